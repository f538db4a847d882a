#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each way for a stack to end, provoked, has its own line in the summary and in --stats.
source "$(dirname "$0")/lib.sh"
count_of() { sed -nE "s/^ +([0-9,]+) +([0-9.]+ % +)?$1.*/\1/p" err | tr -d , | head -n 1; }
# ends HOW TEXT: of 997 Hz × 1.5 s of CPU time, 95 % of the last two thirds end with TEXT, or are whole if that is a whole stack's end. Before that the
# table may be on its way, and user space walks: longer in a sanitizer's build, or on a busy machine.
ends() {
  start_workload end_reasons "$1"
  record_while_working 1.5 "$pid" -F 997 --stats -p "$pid" -o recording.txt
  kill_and_wait "$pid"
  local all=0 line judged right
  all=$(sed -nE 's/^ +.* of ([0-9,]+) user stacks are complete.*/\1/p' err | tr -d ,)
  line=$(count_of "$2")
  read -r judged right < <(awk -v text="(incomplete: $2" '/^[^ \t]/ { why[++n] = index($0, text) ? "so" : index($0, "(incomplete: ") ? "else" : "whole" }
    END { for (i = int(n / 3) + 1; i <= n; ++i) { ++judged; if (why[i] == "so") ++so; if (why[i] == "whole") ++whole }
      print judged + 0, (so ? so : whole) + 0 }' recording.txt)
  [[ -n $line ]] && ((all >= 10 && line * 2 >= all && judged >= 10 && right * 20 >= judged * 19)) ||
    fail "$1: ${line:-no} of $all stacks end with '$2', $right of the last $judged"
  echo "ok      $1: $line of $all, $right of the last $judged: $2"
}
ends outermost 'outermost frame'
ends zero 'zero return address'
ends unreadable 'unreadable stack memory'
ends bad-frame-pointer 'frame pointer leads nowhere'
ends deferred 'finished in user space'
ends unmapped 'address outside every known mapping'
ends no-rule 'no unwind rule for the address'
ends refused 'could not be finished in user space'

"$CICADA" record -F 997 --stats -o recording.txt -- "$WORKLOADS/recursion" 1 3000 >truth 2>err || fail "record ended with $?"
(($(count_of 'depth limit') > 100)) || fail "3,000 frames: no depth limit"

# More than the bucket has: what is not sent is counted, and says what the kernel met.
start_workload end_reasons deferred
record_while_working 2 "$pid" -F 20000 --stats -p "$pid" -o recording.txt
kill_and_wait "$pid"
(($(count_of 'finished in user space') > 100)) || fail "no walk was finished in user space"
if (($(count_of 'stored') > 8000)); then
  (($(count_of 'stacks not sent: deferred unwinding rate-limited') > 0)) || fail "no limit to deferred unwinding"
  (($(count_of 'rule the kernel walk cannot follow') > 0)) || fail "what was not finished does not say why"
fi
"$CICADA" record -F 997 -o recording.txt -- "$WORKLOADS/end_reasons" 1 unreadable 2>err >truth || fail "record ended with $?"
grep -q 'unreadable stack memory' err || fail "without --stats the summary does not say why stacks are incomplete"

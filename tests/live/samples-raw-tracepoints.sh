#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Raw tracepoints: each hit has its outcome, to the hit, its stack begins where the kernel passes the tracepoint, and what it hands over is of the type that the kernel says. With
# --no-stacks only numbers are kept, and they are the same.
source "$(dirname "$0")/lib.sh"
stored() { awk '/;ask;/{sum += $NF} END {print sum + 0}' "$1"; }
outcome() { awk -v text="$1" 'index($0, text) { gsub(",", "", $1); n += $1 } END { print n + 0 }' err; }

# 110 is getppid().
"$CICADA" record --stats -e rawtp:sys_enter/arg1==110/ -o x.folded -o x.txt -- "$WORKLOADS/calls" 4 25000 50 >out 2>err || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err x.txt || fail "the account does not add up"
((lost=$(outcome ' lost: '), $(stored x.folded) + lost >= 100000 && $(stored x.folded) <= 100000 && lost <= 1000)) || fail "$(stored x.folded) hits of 100000 calls, $lost lost"
whole=$(awk '/;ask;/ { n = gsub(/;deeper/, "&"); if (n == 58 && $0 !~ /\[truncated\]|\[incomplete/) sum += $NF } END { print sum + 0 }' x.folded)
((whole * 1000 >= $(stored x.folded) * 999)) || fail "$whole of $(stored x.folded) stacks are whole"
! grep ';ask;' x.folded | grep -qE 'bpf|traceiter|trampoline' || fail "the program's own frames are in the stack: $(grep -m 1 ';ask;' x.folded)"

# The frame below which a thread stops running is the scheduler's.
"$CICADA" record -q -e rawtp:sched_switch -o s.folded -- "$WORKLOADS/calls" 2 2000 50 >out 2>err || fail "record -e rawtp:sched_switch ended with $?"
[[ -s s.folded ]] && ! grep -qv ';__schedule [0-9]*$' s.folded || fail "a stack does not end in the scheduler: $(grep -v ';__schedule [0-9]*$' s.folded | head -n 1)"

# The argument of another process is another one. Grouped by a number with its own sign.
"$CICADA" record -q -e 'rawtp:sys_exit/by=arg1,arg1<0/' -o e.folded -- sh -c 'cat /nowhere; true' >out 2>err || fail "record by=arg1 ended with $?"
grep -q '^-2;' e.folded && ! grep -qv '^-[0-9]*;' e.folded || fail "not the errors: $(cut -c1-80 e.folded)"

"$CICADA" record --stats --no-stacks -e rawtp:sys_enter/arg1==110,by=arg1/ -e t:syscalls:sys_enter_getppid -o n.cicada -- "$WORKLOADS/calls" 2 20000 50 >out 2>err || fail "record --no-stacks ended with $?"
grep -q 'no stacks, which were not asked for' err || fail "the summary says nothing of stacks"
"$CICADA" report --event rawtp:sys_enter n.cicada >report.txt || fail "report of a recording without stacks"
grep -qE '^ +100\.0 % +40,000  110$' report.txt || fail "not 40,000 calls of 110: $(cat report.txt)"
"$CICADA" convert --event syscalls:sys_enter_getppid --by process n.cicada n.folded || fail "convert"
grep -qE '^calls \([0-9]+\) 40000$' n.folded && [[ $(wc -l <n.folded) == 1 ]] || fail "not the hits of one process: $(head -n 3 n.folded)"

refused() {
  "$CICADA" record -e "$1" ${3:-} -o z.cicada -- true 2>err && fail "-e $1 was accepted"
  [[ $(wc -l <err) == 1 ]] && grep -qF -- "$2" err || fail "-e $1: not \"$2\""
  [[ ! -e z.cicada ]] || fail "-e $1 left a recording"
}
refused rawtp:sched_swich "this kernel's types describe no tracepoint sched_swich; did you mean sched_switch"
refused f:vfs_raed "this kernel's types describe no function vfs_raed; did you mean vfs_read"
refused rawtp:sched_switch/by=arg9/ "it hands over no arg9, but arg0 (bool)"
refused 'rawtp:sched_switch/by=u64(arg0)/' "arg0 has 1 bytes"
refused rawtp:sched:sched_switch "column 7: expected the name of a tracepoint of the kernel, as in rawtp:sched_switch"
refused 'f:vfs_*' "column 3: of the kernel one at a time"
refused f:bpf_ringbuf_reserve "is what a sample is taken with"
refused rawtp:sched_switch/return/ 'no term "return"'
refused rawtp:sys_enter,rawtp:sys_exit,rawtp:sched_switch,rawtp:sched_waking,rawtp:sched_wakeup "there can be 4 in a recording"
refused off-cpu "--no-stacks: it does not go with off-cpu" --no-stacks

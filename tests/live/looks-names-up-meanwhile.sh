#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names are looked up while the recording runs, a quarter of a second after a frame was first seen: most of them within a second. The same
# program, recorded once for so short that hardly anything is looked up before the end, and once for longer, has the same functions. What a kill
# leaves behind opens.
source "$(dirname "$0")/lib.sh"
start_workload many_leaves

leaves() { sed -n 's/.*;\(leaf_[0-9]*\) [0-9]*$/\1/p' "$1" | sort -u; }
addresses() { grep -c 'many_leaves+0x' "$1" || true; }

"$CICADA" record -F 5000 -d 0.05 -p "$pid" -o short.folded 2>err || fail "record ended with $?"
# Time in which the threads and processes that look names up (the zygote's children) stood in a queue for a CPU is the machine's affair.
queued_ns() {
  local sum=0 comm zygote pid queued
  for comm in /proc/"$recorder"/task/*/comm; do
    read -r queued 2>/dev/null <"$comm" || continue
    [[ $queued != cicada-names ]] || { read -r _ queued _ 2>/dev/null <"${comm%comm}schedstat" && sum=$((sum + queued)); }
  done
  for zygote in $(cat /proc/"$recorder"/task/*/children 2>/dev/null); do
    for pid in $(cat "/proc/$zygote/task/$zygote/children" 2>/dev/null); do
      read -r _ queued _ 2>/dev/null <"/proc/$pid/schedstat" && sum=$((sum + queued))
    done
  done
  echo "$sum"
}
# Judged is a recording whose last sample is less than a second after its first: a frame that waits for a second has no name then.
us() { echo "${EPOCHREALTIME/./}"; }
half_over() { (($(us) - begin >= 500000 + $(queued_ns) / 1000)); }
sampled_us() { awk -F: '/^[^\t]/ { n = split($1, word, " "); now = word[n] * 1e6; if (!first) first = now; last = now } END { printf "%d\n", last - first }' "$1"; }
judged=
for ((turn = 1; turn <= 20 && !judged; turn++)); do
  begin_record -F 5000 --stats -p "$pid" -o soon.txt --force
  begin=$(us)
  wait_for half_over
  queued=$(queued_ns)
  end_record || fail "record ended with $?"
  took=$(($(sampled_us soon.txt) - queued / 1000))
  ((took > 1000000)) || judged=$turn
done
((judged)) || fail "no recording was over in time: the last one took $took µs"
soon=$(sed -n 's/.*; \([0-9]*\) had one before the end/\1/p' err)
((soon >= 300)) || fail "only $soon frames were looked up in $took µs"
echo "$soon frames were looked up in $took µs, by recording $judged"
record_while_working 3.3 "$pid" -F 5000 --stats -p "$pid" -o long.folded -o long.cicada
ahead=$(sed -n 's/.*; \([0-9]*\) had one before the end/\1/p' err)
((ahead >= 200)) || fail "only $ahead frames were looked up meanwhile"
leaves long.folded >long
[[ $(wc -l <long) == 300 ]] || fail "$(wc -l <long) leaves instead of 300"
[[ -z $(leaves short.folded | comm -23 - long) ]] || fail "functions that only the short recording has"
for file in short.folded long.folded; do [[ $(addresses $file) == 0 ]] || fail "$file: functions without a name"; done
"$CICADA" convert long.cicada again.folded 2>err || fail "convert ended with $?"
cmp <(sort long.folded) <(sort again.folded) || fail "the file says something else than the recording"

begin_record -q -F 5000 -p "$pid" -o killed.cicada
wait_for test -s killed.cicada
let_work 2 "$pid" # so that some names are looked up
kill_and_wait "$recorder"
"$CICADA" convert killed.cicada killed.folded 2>err || fail "what the kill left does not open"
leaves killed.folded | grep -q . || fail "no names in what the kill left"

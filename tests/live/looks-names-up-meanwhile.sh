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
# Judged is a recording whose last sample is less than a second after its first: a frame that waits for a second has no name then. On a busy machine
# those who look names up wait for a CPU, and so several may be needed.
sampled_us() { awk -F: '/^[^\t]/ { n = split($1, word, " "); now = word[n] * 1e6; if (!first) first = now; last = now } END { printf "%d\n", last - first }' "$1"; }
soon=0
for ((turn = 1; turn <= 20 && soon < 300; turn++)); do
  "$CICADA" record -F 5000 -d 0.9 --stats -p "$pid" -o soon.txt --force 2>err || fail "record ended with $?"
  took=$(sampled_us soon.txt)
  ((took >= 1000000)) || soon=$(sed -n 's/.*; \([0-9]*\) had one before the end/\1/p' err)
done
((soon >= 300)) || fail "only $soon frames were looked up, of the last recording, which sampled for $took µs"
echo "$soon frames were looked up in $took µs, by recording $((turn - 1))"
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

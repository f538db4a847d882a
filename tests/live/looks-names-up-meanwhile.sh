#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names are looked up while the recording runs, a quarter of a second after a frame was first seen: most of them within 0.9 s. The same program,
# recorded once for so short that hardly anything is looked up before the end, and once for longer, has the same functions. What a kill leaves
# behind opens.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/many_leaves" 30
wait_for 10 said_something

leaves() { sed -n 's/.*;\(leaf_[0-9]*\) [0-9]*$/\1/p' "$1" | sort -u; }
addresses() { grep -c 'many_leaves+0x' "$1" || true; }

"$CICADA" record -F 5000 -d 0.05 -p "$pid" -o short.folded 2>err || fail "record ended with $?"
"$CICADA" record -F 5000 -d 0.9 --stats -p "$pid" -o soon.folded 2>err || fail "record ended with $?"
soon=$(sed -n 's/.*; \([0-9]*\) had one before the end/\1/p' err)
((soon >= 100)) || fail "only $soon frames were looked up within 0.9 s"
"$CICADA" record -F 5000 -d 3.3 --stats -p "$pid" -o long.folded -o long.cicada 2>err || fail "record ended with $?"
ahead=$(sed -n 's/.*; \([0-9]*\) had one before the end/\1/p' err)
((ahead >= 200)) || fail "only $ahead frames were looked up meanwhile"
leaves long.folded >long
[[ $(wc -l <long) == 300 ]] || fail "$(wc -l <long) leaves instead of 300"
[[ -z $(leaves short.folded | comm -23 - long) ]] || fail "functions that only the short recording has"
for file in short.folded long.folded; do [[ $(addresses $file) == 0 ]] || fail "$file: functions without a name"; done
"$CICADA" convert long.cicada again.folded 2>err || fail "convert ended with $?"
cmp <(sort long.folded) <(sort again.folded) || fail "the file says something else than the recording"

"$CICADA" record -q -F 5000 -p "$pid" -o killed.cicada 2>err &
cicada=$!
started+=("$cicada")
wait_for 10 test -s killed.cicada
sleep 2 # so that some names are looked up
kill -KILL "$cicada"
wait "$cicada" 2>/dev/null || true
"$CICADA" convert killed.cicada killed.folded 2>err || fail "what the kill left does not open"
leaves killed.folded | grep -q . || fail "no names in what the kill left"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that is never seen twice in one place, below a thousand callers that were never there: its stacks took 20 MB a second without end.
source "$(dirname "$0")/lib.sh"
compiled random_stacks
start_neighbour
start "${as_attacker[@]}" "$lair/random_stacks" $FOREVER
left_out() { grep -q 'stacks and their names take more than' err; }
wait_for grep -q running out
for seconds in 5 15 45; do  # it may get little CPU time
  bounded 300 $((seconds * 8 / 5)) "$CICADA" record --force -F 997 -d $seconds -p "$pid,$neighbour" -o r.cicada 2>err || fail "record ended with $?"
  within "$seconds" 2 || fail "$(<taken)"
  ! left_out || break
done
left_out || fail "nothing was said of what is left out"
kill -KILL "$pid"
"$CICADA" convert -q r.cicada r.txt
neighbour_is_whole r.txt || fail "$(neighbour_is_whole r.txt)"
grep -q 'too many different stacks' r.txt || fail "nothing was left out"

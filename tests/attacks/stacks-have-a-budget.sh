#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that is never seen twice in one place, below a thousand callers that were never there: its stacks took 20 MB a second without end.
source "$(dirname "$0")/lib.sh"
compiled random_stacks
start_neighbour
start "${as_attacker[@]}" "$lair/random_stacks" 60
wait_for 10 grep -q running out
bounded 300 8 "$CICADA" record -F 997 -d 5 -p "$pid,$neighbour" -o r.cicada 2>err || fail "record ended with $?"
within 7 || fail "$(<taken)"
grep -q 'its stacks take more than' err || fail "nothing was said of what is left out"
kill -KILL "$pid"
"$CICADA" convert -q r.cicada r.txt
neighbour_is_whole r.txt || fail "$(neighbour_is_whole r.txt)"
grep -q 'too many different stacks' r.txt || fail "nothing was left out"

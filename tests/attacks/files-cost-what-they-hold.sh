#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs whose files say the same again and again: sections that share notes or names, a million directories of one text, symbols in one
# text, one compressed blob for ten sections, a sparse debug file, sparse CFI, more rows than there is room for. Each recording ends two seconds after
# its time at most, with less than 300 MB and 2.5 s of CPU, and the neighbour's stacks are complete and named.
source "$(dirname "$0")/lib.sh"
compiled spin -no-pie -Wl,--build-id=none
cc -O1 -c -o "$lair/spin.o" "$ATTACKS/spin.c"
start_neighbour
running() { grep -qs running out || ! kill -0 "$pid" 2>/dev/null; }
for kind in notes names directories symbols compressed link nops rows; do
  program=$lair/spin
  [[ $kind == rows ]] && program=$lair/spin.o
  python3 "$ATTACKS/hostile_elf.py" $kind "$program" "$lair/$kind" 1 || fail "cannot make $kind"
  chmod 755 "$lair/$kind"
  chown -R "$attacker:$attacker" "$lair"
  : >out
  start "${as_attacker[@]}" "$lair/$kind" $FOREVER
  wait_for running
  bounded 300 2.5 "$CICADA" record -F 997 -d 1.5 -p "$pid,$neighbour" -o $kind.txt 2>err || fail "$kind: record ended with $?"
  within 1.5 2 || fail "$kind: $(<taken)"
  kill -KILL "$pid"
  rm -f "$lair/$kind"*
  neighbour_is_whole $kind.txt || fail "$kind: $(neighbour_is_whole $kind.txt)"
done

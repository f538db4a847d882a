#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `bench` of programs whose files cost whoever reads them: by root, who runs a stranger's program, with the bounds that recordings have. The
# command's own second counts, as bench waits for it.
source "$(dirname "$0")/lib.sh"
compiled spin -no-pie -Wl,--build-id=none
for kind in notes names directories symbols compressed link nops; do
  python3 "$ATTACKS/hostile_elf.py" $kind "$lair/spin" "$lair/$kind" 1 || fail "cannot make $kind"
  chmod 755 "$lair/$kind"
  chown -R "$attacker:$attacker" "$lair"
  bounded 300 4.5 "$CICADA" bench -q -o $kind -- "$lair/$kind" 1 || fail "$kind: bench ended with $?"
  within 1 2.5 || fail "$kind: $(<taken)"
  [[ -s $kind/bench.json && -s $kind/flamegraphs/0001.html ]] || fail "$kind: no results"
  rm -f "$lair/$kind"*
done

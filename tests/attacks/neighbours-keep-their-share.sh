#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What one user does while the whole machine is recorded: thirty idle processes whose executable mappings have 240 MB of names, a storm of
# files in memory, six programs that cost who reads them, a perf map of 60 MB. The stacks of another user's program are complete and named,
# and so is his generated code; the recording takes four seconds of CPU at most.
source "$(dirname "$0")/lib.sh"
compiled many_mappings
compiled memfds
compiled jit_code
compiled spin -no-pie -Wl,--build-id=none
start_neighbour
running() { grep -qs running out || ! kill -0 "$pid" 2>/dev/null; }
record() {
  bounded 300 4 "$CICADA" record -a -F 997 -d 3 -o "$1.txt" 2>err || fail "$1: record ended with $?"
  neighbour_is_whole "$1.txt" || fail "$1: $(neighbour_is_whole "$1.txt")"
}
start "${as_attacker[@]}" "$lair/many_mappings" $FOREVER 30
wait_for running
record mappings
kill -KILL "$pid"
: >out
start "${as_attacker[@]}" "$lair/memfds" $FOREVER
wait_for running
record memfds
kill -KILL "$pid"

for kind in notes names directories symbols compressed link; do
  python3 "$ATTACKS/hostile_elf.py" $kind "$lair/spin" "$lair/$kind" 1
  chmod 755 "$lair/$kind"
  chown -R "$attacker:$attacker" "$lair"
  start "${as_attacker[@]}" "$lair/$kind" $FOREVER
  let_work 0.1 "$pid"
done
record programs
kill -KILL "${started[@]:1}" 2>/dev/null || true

: >out
start "$lair/jit_code" $FOREVER 'echo 700000000 10000 neighbours_name >/tmp/perf-$P.map'
wait_for running
its_map=/tmp/perf-$pid.map
: >out
start "${without_perf_map[@]}" "${as_attacker[@]}" "$lair/jit_code" $FOREVER \
  'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); echo 700000000 10000 x; done | sed "s/x/$(printf %0600d 0)/" >/tmp/perf-$P.map'
wait_for running
record map
grep -q neighbours_name map.txt || fail "the neighbour's JIT code has no name"
rm -f "$its_map" "/tmp/perf-$pid.map"

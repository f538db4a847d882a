#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The perf map of a process is a file whose server says everything about it and then answers no read, no close, no look-up: the recording
# ends in time, and the map of another user's process is read.
source "$(dirname "$0")/lib.sh"
compiled jit_code
compiled silent_fs
mkdir mnt
at_exit 'kill -KILL $fs 2>/dev/null; umount -l "$T/mnt" 2>/dev/null'
# serve OPERATION: not answered.
serve() {
  : >fs.out
  "$lair/silent_fs" "$T/mnt" "$attacker" "$1" >fs.out 2>&1 &
  fs=$!
  started+=("$fs")
  wait_for mounted_or_ended
  grep -q mounted fs.out || skip "no FUSE in this kernel"
}
running() { grep -qs running out || ! kill -0 "$pid" 2>/dev/null; }
start "$lair/jit_code" $FOREVER 'echo 700000000 10000 neighbours_name >/tmp/perf-$P.map'
wait_for running
neighbour=$pid
for operation in read flush; do
  serve "$operation"
  : >out
  start "${without_perf_map[@]}" "${as_attacker[@]}" unshare -Urm "$lair/jit_code" $FOREVER "touch /tmp/perf-\$P.map && mount --bind $T/mnt/map /tmp/perf-\$P.map"
  wait_for running
  grep -q running out || skip "no user namespaces for everybody"
  bounded 600 15 "$CICADA" record -F 997 -d 3 -p "$pid,$neighbour" -o r.folded 2>err || fail "$operation: record ended with $?"
  within 3 6 || fail "$operation: a recording of 3 s took: $(<taken)"
  kill -KILL "$pid" "$fs"
  wait "$fs" 2>/dev/null || true
  umount -l "$T/mnt"
  rm -f "/tmp/perf-$pid.map"
  grep -q neighbours_name r.folded || fail "$operation: the neighbour's code has no name"
  if [[ $operation == read ]]; then grep -q "does not answer" err || fail "nothing was said of it"; fi
  if [[ $operation == flush ]]; then grep -q served_name r.folded || fail "a served file is not read"; fi
done
rm -f "/tmp/perf-$neighbour.map"

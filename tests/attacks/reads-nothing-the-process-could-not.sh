#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The perf map of a process leads to a file of root's that its user cannot read: by a symbolic link, by a mount in a namespace of its own. Not
# a byte of it is in the recording. A map of its own is used.
source "$(dirname "$0")/lib.sh"
compiled jit_code
echo '700000000 10000 known_to_root_only' >secret
chmod 600 secret
# attack NAME WRAPPER… : the map is made by $make; the recording is NAME.folded
attack() {
  local name=$1
  shift
  : >out
  start "${without_perf_map[@]}" "${as_attacker[@]}" "$@" "$lair/jit_code" $FOREVER "$make"
  wait_for said_or_ended
  grep -q running out || return 1
  bounded 600 10 "$CICADA" record -q -F 997 -d 1.5 -p "$pid" -o "$name.folded" 2>err || fail "$name: record ended with $?"
  kill -KILL "$pid"
  rm -f "/tmp/perf-$pid.map"
  [[ -s $name.folded ]] || fail "$name: nothing was recorded"
  ! grep -q known_to_root_only "$name.folded" || fail "$name: the recording holds root's file"
}
said_or_ended() { [[ -s out ]] || ! kill -0 "$pid" 2>/dev/null; }
make='echo 700000000 10000 its_own >/tmp/perf-$P.map' attack own || fail "the program does not run: $(<out)"
grep -q its_own own.folded || fail "its own map is not used"
make="ln -s $T/secret /tmp/perf-\$P.map" attack link || fail "the program does not run: $(<out)"
# On the way to a file a mount asks for no right to read it.
make="touch /tmp/perf-\$P.map && mount --bind $T/secret /tmp/perf-\$P.map" attack mount unshare -Urm ||
  skip "no user namespaces for everybody"

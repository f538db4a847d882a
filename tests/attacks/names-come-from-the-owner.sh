#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whose file it is says who may name its functions. A program of the attacker's, mapped first by processes that have ended, names a file of
# root's that he cannot read; in a user namespace of his own he gives another user's program names, and takes root's program its own.
source "$(dirname "$0")/lib.sh"
victim=$((attacker + 1))
as_victim=(env -C "$T" -i PATH=/usr/local/bin:/usr/bin:/bin setpriv --reuid "$victim" --regid "$victim" --clear-groups --inh-caps=-all)
"${as_attacker[@]}" unshare -Urm true 2>/dev/null || skip "no user namespaces for everybody"

# program FUNCTION FILE BUILD-ID: spins in it.
program() { cc -O1 -w -Dhot="$1" -Wl,--build-id="0x$3" -o "$2" "$ATTACKS/spin.c" || fail "cannot compile"; }
# separate PROGRAM DEBUG-FILE: the names go there.
separate() { objcopy --only-keep-debug "$1" "$2" && objcopy --strip-all --add-gnu-debuglink="$2" "$1" || fail "cannot strip"; }
# count RECORDING COMM FRAME: how many of its samples have that frame, and how many there are.
count() { awk -v RS= -v comm="$2" -v frame="$3" 'index($0, comm " ") == 1 { ++all; if (index($0, " " frame)) ++n } END { print n + 0, all + 0 }' "$1"; }
record_all() { bounded 600 20 "$CICADA" record -q -a -F 997 -d 2 --force "$@" 2>err || fail "record ended with $?"; }

# A secret of root's, which the attacker's program calls its debug file.
compiled map_and_go
program known_to_root_only "$lair/open" aa01
mkdir "$lair/.debug"
separate "$lair/open" "$T/secret"
chmod 600 "$T/secret"
ln -s "$T/secret" "$lair/.debug/secret"
chown -R "$attacker:$attacker" "$lair"
for ((turn = 0; turn < 3; turn++)); do
  cp "$lair/open" "$lair/open.$turn"
  chown "$attacker:$attacker" "$lair/open.$turn"
  "$CICADA" record -q -a -F 997 -o secret.txt --force 2>err &
  recorder=$!
  started+=("$recorder")
  wait_for samples_or_ended
  "${as_attacker[@]}" "$lair/map_and_go" "$lair/open.$turn" "$lair/open.$turn" $FOREVER >out &
  pid=$!
  started+=("$pid")
  wait_for said_something
  let_work 1 "$pid"
  end_record || fail "record ended with $?"
  kill_and_wait "$pid"
  : >out
  read -r named all < <(count secret.txt "open.$turn" known_to_root_only)
  ((all > 300)) || fail "only $all samples of the attacker's program"
  ((named == 0)) && ! grep -q known_to_root_only secret.txt || fail "the recording names a file that its owner cannot read"
done

# The victim's program without names, and false ones where the attacker's namespace has the debug files.
mkdir -p "$T/debug" "$lair/debug/.build-id/aa" "$T/victim"
program true_name "$T/victim/vprog" aa02
program false_name "$lair/debug/.build-id/aa/02.debug" aa02
strip "$T/victim/vprog"
chown "$victim:$victim" "$T/victim" "$T/victim/vprog"
chown -R "$attacker:$attacker" "$lair/debug"
mkdir -p /usr/lib/debug
mount --bind "$T/debug" /usr/lib/debug
at_exit 'umount /usr/lib/debug'
# Root's program, with its names beside it.
mkdir -p "$T/root/.debug"
program roots_name "$T/root/rprog" aa03
separate "$T/root/rprog" "$T/root/.debug/rprog.debug"
# attack COMMAND…: by the attacker, in namespaces of his own, until the test ends
attack() {
  : >out
  start "${as_attacker[@]}" unshare -Urm bash -c "$1"
  wait_for said_something
  grep -q running out || fail "the attack does not run: $(<out)"
  : >out
}
attack "mount --bind $lair/debug /usr/lib/debug && exec $T/victim/vprog $FOREVER"
attack "mount -t tmpfs none $T/root/.debug && exec $T/root/rprog $FOREVER"
mkdir "$lair/alias"
attack "mount --bind $T/root $lair/alias && mount -t tmpfs none $lair/alias/.debug && exec $lair/alias/rprog $FOREVER"
record_all -o before.txt  # each starts anew: the attacker was there first
start "${as_victim[@]}" "$T/victim/vprog" $FOREVER
victims=$pid
wait_for said_something
start "$T/root/rprog" $FOREVER
roots=$pid
wait_for said_something
record_all -o names.txt
for recording in before.txt names.txt; do
  ! grep -q false_name "$recording" || fail "$recording: the attacker names the victim's code"
done
of_process() { awk -v RS= -v pid=" $1/" 'index($0, pid) { ++all; if (index($0, frame)) ++n } END { print n + 0, all + 0 }' frame="$2" names.txt; }
read -r named all < <(of_process "$victims" "vprog+0x")
((all > 100 && 10 * named > 9 * all)) || fail "$named of $all samples of the victim's program have no false names"
read -r named all < <(of_process "$roots" " roots_name ($T/root/rprog)")
((all > 100 && 10 * named > 9 * all)) || fail "$named of $all samples of root's program have their names"

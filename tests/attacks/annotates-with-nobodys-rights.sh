#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program whose line table calls a file of root's its source: report --annotate shows nothing of it, as root and under sudo. What is no
# regular file is not even opened. Under sudo a conversion is the user's work from its first byte.
source "$(dirname "$0")/lib.sh"
for i in {1..40}; do echo "line $i known to root only"; done >secret
chmod 600 secret
mkfifo -m 666 fifo
for i in {1..40}; do echo "line $i known to all"; done >known
chmod 644 known
# build NAME FILE: lines of main are said to be in FILE.
build() {
  cat >"$1.c" <<C
#include <stdlib.h>
#include <time.h>
volatile unsigned long x;
int main(int argc, char **argv) {
  time_t end = time(0) + atoi(argv[1]);
  while (time(0) < end) for (int i = 0; i < 1000000; ++i) {
# 3 "$2"
    x += i;
# 6 "$2"
    x ^= i;
# 30 "$2"
  }
}
C
  cc -g -O1 -w -o "$lair/$1" "$1.c" || fail "cannot compile"
}
for name in secret fifo known; do
  build "steals_$name" "$T/$name"
  start "${as_attacker[@]}" "$lair/steals_$name" $FOREVER
  bounded 600 10 "$CICADA" record -q -F 997 -d 1 -p "$pid" -o "$name.cicada" || fail "record ended with $?"
  kill -KILL "$pid"
  chmod 644 "$name.cicada"
done
sh -c 'exec 9>fifo' &  # waits until somebody opens it
writer=$!
started+=("$writer")
writer_waits() { grep -qx wait_for_partner "/proc/$writer/wchan"; }
wait_for writer_waits
for name in secret fifo; do
  bounded 600 10 "$CICADA" report --annotate main "$name.cicada" >shown 2>&1 || true
  ! grep -q 'known to' shown || fail "root showed root's file"
  [[ $name == fifo ]] || grep -q "with nobody's rights.*secret: Permission denied" shown || fail "it is not said why not: $(<shown)"
  bounded 600 10 env SUDO_UID="$attacker" SUDO_GID="$attacker" "$CICADA" report --annotate main "$name.cicada" >shown 2>&1 || true
  ! grep -q 'known to' shown || fail "sudo showed root's file"
done
writer_waits || fail "a FIFO was opened"
chmod 755 "$T"
bounded 600 10 "$CICADA" report --annotate main known.cicada >shown || fail "report ended with $?"
grep -q 'known to all' shown || fail "a file for everybody is not shown: $(<shown)"
bounded 600 10 env SUDO_UID="$attacker" SUDO_GID="$attacker" "$CICADA" convert known.cicada "$lair/x.folded" || fail "convert ended with $?"
[[ $(stat -c %u "$lair/x.folded") == "$attacker" ]] || fail "the output belongs to $(stat -c %u "$lair/x.folded")"
code=0
env SUDO_UID="$attacker" SUDO_GID="$attacker" "$CICADA" convert known.cicada "$T/x.folded" 2>err || code=$?
[[ $code == 125 && ! -e $T/x.folded ]] || fail "a conversion under sudo wrote where the user may not"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: cicada-*
# A recording that is being made is looked at by other processes of its user: as text, as a picture, and as the bytes of a recording. Not by strangers.
source "$(dirname "$0")/lib.sh"
chmod 755 "$T"
id nobody >/dev/null || skip "no user nobody"
start_workload chain_gcc_O2_pie
begin_record --attachable -F 997 -p "$pid" -o end.cicada
grep -q "cicada report --attach $recorder" err || fail "it does not say how"
let_work 2 "$pid"
"$CICADA" report --json --attach "$recorder" >now.json 2>err.txt || fail "report ended with $?"
samples=$(python3 -c 'import json; print(json.load(open("now.json"))["total"])')
((samples > 500)) || fail "the first look shows $samples samples"
"$CICADA" convert --attach "$recorder" now.svg now.cicada now.folded >/dev/null 2>err.txt || fail "convert ended with $?"
grep -q '<svg' now.svg || fail "no picture"
samples=$(awk '{ n += $NF } END { print n }' now.folded)
((samples > 500)) || fail "$samples samples only"
awk '{ all += $NF } /(^|;)main(;| [0-9]+$)/ { whole += $NF } END { exit whole < 0.99 * all }' now.folded || fail "stacks are not whole"
# A stranger, and a user through sudo that it does not belong to.
socket=$(ls -d /run/user/0/cicada/"$recorder".sock /tmp/cicada-0/"$recorder".sock 2>/dev/null || true)
[[ -S $socket ]] || fail "no socket"
[[ $(stat -c '%a %u' "$socket") == "600 0" && $(stat -c '%a %u' "$(dirname "$socket")") == "700 0" ]] || fail "rights: $(stat -c '%a %u' "$socket" "$(dirname "$socket")")"
setpriv --reuid nobody --regid nogroup --clear-groups "$CICADA" report --attach "$recorder" >x 2>err.txt && fail "a stranger looks"
setpriv --reuid nobody --regid nogroup --clear-groups "$CICADA" report --attach "$socket" >x 2>err.txt && fail "a stranger looks"
# One follows to the end, beside another that reads nothing; the bytes are a recording.
python3 - "$socket" >followed.cicada <<'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"cicada-attach 1 follow\n")
while block := s.recv(65536): sys.stdout.buffer.write(block)
PY
follower=$!
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"cicada-attach 1 follow\n"); time.sleep(600)' "$socket" &
started+=("$!" "$follower")
let_work 2 "$pid"
end_record_soon "$pid"
wait "$follower" || fail "the one that follows ended with $?"
[[ ! -e $socket ]] || fail "the socket is left"
"$CICADA" report --json followed.cicada >followed.json 2>err.txt || fail "followed: report ended with $?"
"$CICADA" report --json end.cicada >end.json || fail "report ended with $?"
python3 - <<'PY' || fail "what was followed is not what was recorded"
import json
followed, end = json.load(open("followed.json")), json.load(open("end.json"))
print(followed["total"], "of", end["total"])
assert followed["total"] == end["total"] and followed["functions"] == end["functions"]
PY
"$CICADA" report --attach "$recorder" >x 2>err.txt && fail "it looks at what has ended"
[[ $(wc -l <err.txt) == 1 ]] || fail "not one line"
# A recorder that says nonsense, one that says why not, and one that says nothing: one line each.
says() {
  rm -f evil.sock
  python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind("evil"); s.listen(); os.rename("evil", "evil.sock")
c = s.accept()[0]; c.sendall(os.fsencode(sys.argv[1]))
if sys.argv[1]: sys.exit()
time.sleep(600)' "$1" &
  evil=$!
  started+=("$evil")
  wait_for test -S evil.sock
  "$CICADA" report --attach "$T/evil.sock" >x 2>err.txt && fail "it believes: $1"
  [[ $(wc -l <err.txt) == 1 ]] || fail "not one line of: $1"
}
says $'cicada: 16 look already\nx'
grep -q 'says: cicada: 16 look already$' err.txt || fail "the reason is not told"
says $'main;a 7\nmain;b 8\n'
says $'\x89CICADA\n\x07'
says ""
grep -q 'is it stopped?' err.txt || fail "it does not say that nobody answers"
kill -KILL "$evil"
# Under sudo it is the user's.
uid=$(id -u nobody) gid=$(id -g nobody)
as_caller=(env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER=nobody)
"${as_caller[@]}" "$CICADA" record --attachable -p "$pid" -o users.cicada 2>err &
recorder=$!
started+=("$recorder")
wait_for samples_or_ended
as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
"${as_nobody[@]}" "$CICADA" report --attach "$recorder" >users.txt 2>err.txt || fail "the user may not look"
"$CICADA" report --attach "$recorder" >root.txt 2>err.txt || fail "root may not look"
"${as_caller[@]}" "$CICADA" report --attach "$recorder" >sudo.txt 2>err.txt || fail "the user may not look through sudo"
end_record || fail "record ended with $?"

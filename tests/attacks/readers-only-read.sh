#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who looks at a recording as root looks with nobody's rights, in a process that can only read: it has no user, group, capability or file of root's,
# and ends when root's part does. Outputs get their names in root's directory all the same. A recording that was left half-written, of programs that
# cost who reads them, costs little.
source "$(dirname "$0")/lib.sh"
start_neighbour
"$CICADA" record -q -F 997 -p "$neighbour" -d 0.5 -o good.cicada || fail "record ended with $?"
kill_and_wait "$neighbour"
mkdir -m 700 private
mv good.cicada private/

# The reader, while a page that nobody takes keeps it from ending.
mkfifo private/page.html
# Holds the pipe open, which has room for a page, and takes nothing.
start python3 -c 'import fcntl, os, time
fcntl.fcntl(os.open("private/page.html", os.O_RDONLY | os.O_NONBLOCK), 1031, 4096)  # F_SETPIPE_SZ
print("ready", flush=True)
time.sleep(int(os.sys.argv[1]))' $FOREVER
taker=$pid
wait_for grep -q ready out
exec {secret}<private/good.cicada
"$CICADA" convert -q private/good.cicada private/page.html &
caller=$!
started+=("$caller")
exec {secret}<&-
reader_of() { reader=$(pgrep -P "$caller" -x cicada-reader); }
reader_waits() { reader_of && grep -qs pipe "/proc/$reader/wchan"; }
wait_for reader_waits
field() { awk -v name="$1:" '$1 == name { $1 = ""; print substr($0, 2) }' "/proc/$reader/status"; }
for name in Uid Gid; do [[ " $(field $name) " != *" 0 "* ]] || fail "the reader has the $name $(field $name)"; done
[[ -z $(field Groups) ]] || fail "the reader has the groups $(field Groups)"
((0x$(field CapPrm) == 0 || 0x$(field CapPrm) == 1 << 34)) || fail "the reader has the capabilities $(field CapPrm)" # CAP_SYSLOG
[[ $(field NoNewPrivs) == 1 && $(field Seccomp) == 2 ]] || fail "the reader may do what it likes: $(field NoNewPrivs) $(field Seccomp)"
ls -l "/proc/$reader/fd" | awk 'NR > 1 { print $NF }' >held
grep -q page.html held || fail "the reader does not have its output: $(<held)"
# Three standard ones, the page, the socket, the vDSO.
(($(wc -l <held) <= 6)) || fail "the reader holds more than its files: $(<held)"
kill -KILL "$caller"
gone() { [[ ! -e /proc/$reader ]]; }
wait_for gone
kill_and_wait "$taker"

# Outputs have their names and modes in a directory that the reader cannot enter.
(umask 077; "$CICADA" convert -q private/good.cicada private/x.html private/x.folded) || fail "convert ended with $?"
[[ $(stat -c '%u %a' private/x.html) == "0 600" && -s private/x.folded ]] || fail "convert left $(ls -l private)"
chmod 600 private/good.cicada
"$CICADA" merge -q private/good.cicada private/good.cicada -o private/two.cicada || fail "merge ended with $?"
[[ $(stat -c %a private/two.cicada) == 600 ]] || fail "what was merged from a private recording has mode $(stat -c %a private/two.cicada)"
"$CICADA" diff private/good.cicada private/two.cicada -o private/x.svg >/dev/null || fail "diff ended with $?"
"$CICADA" report - <private/good.cicada >shown || fail "report ended with $?"
grep -q neighbours_hot shown || fail "report shows $(<shown)"
(umask 022; "$CICADA" convert -q - private/y.folded <private/good.cicada; cat private/good.cicada | "$CICADA" convert -q /dev/stdin private/z.folded) || fail "convert ended with $?"
[[ $(stat -c %a private/y.folded) == 600 && $(stat -c %a private/z.folded) == 644 ]] || fail "modes of what was read from a private file, and from a pipe: $(ls -l private)"
code=0
cat private/good.cicada | "$CICADA" diff - /dev/stdin >shown 2>err || code=$?
((code == 125)) && grep -q 'named twice' err || fail "standard input was read twice: $code, $(<err)"
"$CICADA" report private/good.cicada <&- 2>&1 >shown | cat && grep -q neighbours_hot shown || fail "report without a standard input shows $(<shown)"
# Many inputs, with few descriptors.
for ((i = 0; i < 100; i++)); do inputs[i]=private/good.$i.cicada && ln private/good.cicada "${inputs[i]}"; done
(ulimit -n 40; "$CICADA" merge -q "${inputs[@]}" -o private/all.cicada) || fail "merge of a hundred ended with $?"
# Wrong options are told before the input is read.
code=0
mkfifo endless
exec {endless}<>endless
timeout 60 "$CICADA" convert - x.unknown <&"$endless" 2>err || code=$?
exec {endless}>&-
((code == 125)) && grep -q 'unknown output format' err || fail "an unknown format: $code, $(<err)"
code=0
"$CICADA" merge -q private/good.cicada private/two.cicada -o private/../private/two.cicada --force 2>err || code=$?
((code == 125)) && grep -q 'one of the inputs' err || fail "merge wrote over its input: $code, $(<err)"
[[ -z $(find private -name '.*.part') ]] || fail "left behind: $(find private -name '.*')"

# Half-written, of programs whose tables are as dear as they can be.
cc -O1 -w -g -o spin "$ATTACKS/spin.c" || fail "cannot compile"
for kind in names notes compressed symbols directories; do
  python3 "$ATTACKS/hostile_elf.py" "$kind" spin "$lair/$kind" || fail "cannot make $kind"
  chown "$attacker:$attacker" "$lair/$kind"
  chmod 755 "$lair/$kind"
  start "${as_attacker[@]}" "./$kind" $FOREVER
  hostile+=("$pid")
done
written() { (($(stat -c %s half.cicada 2>/dev/null || echo 0) > 2000)); }
"$CICADA" record -q -F 997 -p "$(IFS=,; echo "${hostile[*]}")" -o half.cicada &
recorder=$!
started+=("$recorder")
wait_for written
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null || true
kill -KILL "${hostile[@]}"
bounded 600 10 "$CICADA" report half.cicada >shown 2>&1 || fail "report ended with $?: $(<shown)"
bounded 600 10 "$CICADA" convert -q half.cicada half.html 2>shown || fail "convert ended with $?: $(<shown)"

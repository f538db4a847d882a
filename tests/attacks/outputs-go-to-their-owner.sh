#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: cicada-*.cicada
# In a directory for everybody, somebody made FIFOs under the names of root's outputs: they get nothing, and nobody waits for their reader. A
# FIFO of root's own is written to. What shows other users' processes is for its owner only; arguments of commands stay out of it.
source "$(dirname "$0")/lib.sh"
mkdir -m 1777 shared
"${as_attacker[@]}" mkfifo -m 666 "$T/shared/cicada.cicada" "$T/shared/out.folded"
# The kernel may guard such directories by itself (fs.protected_fifos), for opens that create: not for ours.
"${as_attacker[@]}" cat "$T/shared/out.folded" >stolen &
started+=($!)
for name in cicada.cicada out.folded; do
  code=0
  bounded 600 10 "$CICADA" record -q -a -d 0.5 -o "shared/$name" 2>err || code=$?
  ((code == 125)) || fail "$name: record ended with $code"
  within 0.5 7.5 || fail "$name: $(<taken)"
  grep -q "belongs to" err || fail "$name: the message does not say whose it is: $(<err)"
done
[[ ! -s stolen ]] || fail "the profile went to somebody else"

# One of root's own that nobody reads is an error, not a wait; one that somebody reads gets the profile.
mkfifo own.folded
code=0
bounded 600 10 "$CICADA" record -q -a -d 0.5 -o own.folded 2>err || code=$?
[[ $code == 125 ]] && grep -q "nobody reads" err || fail "a FIFO without a reader: $code, $(<err)"
cat own.folded >own &
reader=$!
started+=("$reader")
bounded 600 10 "$CICADA" record -q -a -d 0.5 -o own.folded || fail "a FIFO with a reader: $?"
wait "$reader"
[[ -s own ]] || fail "the reader of the FIFO got nothing"

umask 022
mode() { stat -c %a "$1"; }
start "${as_attacker[@]}" python3 -c 'while True: pass' --password=verysecret --user=me
wait_for grep -q verysecret "/proc/$pid/cmdline"
bounded 600 10 "$CICADA" record -q -a -d 0.5 -o all.cicada -o all.html -o all.folded
bounded 600 10 "$CICADA" record -q -p "$pid" -d 0.5 -o other.cicada
bounded 600 10 "$CICADA" record -q -o own.cicada -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' --token=verysecret
for file in all.cicada all.html all.folded other.cicada; do [[ $(mode $file) == 600 ]] || fail "$file: mode $(mode $file)"; done
[[ $(mode own.cicada) == 644 ]] || fail "own.cicada: mode $(mode own.cicada)"
bounded 600 10 "$CICADA" convert all.cicada again.html
[[ $(mode again.html) == 600 ]] || fail "a private recording was converted into a page with mode $(mode again.html)"
# holds PAGE TEXT
holds() {
  python3 - "$@" <<'PYTHON'
import base64, re, sys, zlib
text = open(sys.argv[1], 'rb').read()
for part in re.findall(rb'[A-Za-z0-9+/]{40,}={0,2}', text):
    for bits in (-15, 15, 31):
        try: text += zlib.decompressobj(bits).decompress(base64.b64decode(part))
        except Exception: pass
sys.exit(sys.argv[2].encode() not in text)
PYTHON
}
for file in all other own; do
  "$CICADA" convert "$file.cicada" "$file.page.html"
  ! holds "$file.page.html" verysecret || fail "$file: holds the secret"
done
bounded 600 10 "$CICADA" record -q -p "$pid" -d 0.5 --with-arguments -o asked.cicada
"$CICADA" convert asked.cicada asked.html
holds asked.html --user=me || fail "--with-arguments kept no arguments"
! holds asked.html verysecret || fail "the password is not masked"

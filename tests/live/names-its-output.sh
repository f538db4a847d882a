#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without -o: cicada.cicada, then the next number. --open: the output's name goes to xdg-open, once, and only if it was written.
source "$(dirname "$0")/lib.sh"
mkdir bin
printf '#!/bin/sh\necho "$@" >>%s/opened\n' "$T" >bin/xdg-open
chmod +x bin/xdg-open
export PATH=$T/bin:$PATH
record() { "$CICADA" record -q "$@" -- true 2>err || fail "record $* ended with $?"; }
record
record
[[ $(ls ./*.cicada | xargs) == "./cicada.2.cicada ./cicada.cicada" ]] || fail "$(ls)"
"$CICADA" report cicada.2.cicada >/dev/null || fail "cicada.2.cicada is no recording"

record --open -o first.html -o second.folded
wait_for test -s opened
[[ $(<opened) == *first.html && -s first.html ]] || fail "opened: $(<opened)"
rm opened
"$CICADA" record -q --open -o /dev/full -- true 2>err && fail "nothing was written, and nobody said so"
[[ ! -e opened ]] || fail "what was not written was opened: $(<opened)"

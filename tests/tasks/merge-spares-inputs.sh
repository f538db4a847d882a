#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `merge a b` without an output, over an input, over another recording: refused, and every file is as it was.
source "$(dirname "$0")/lib.sh"
cp golden.cicada a.cicada
cp golden.cicada b.cicada
printf 'main;f 3\n' >c.folded
sums=$(sha256sum ./*.cicada c.folded)
code 125 "$CICADA" merge a.cicada b.cicada
has err.txt '-o|--output'
code 125 "$CICADA" merge a.cicada b.cicada -o ./a.cicada --force
has err.txt 'one of the inputs'
code 125 "$CICADA" merge c.folded a.cicada -o c.folded
code 125 "$CICADA" merge a.cicada b.cicada -o golden.cicada
has err.txt '--force'
[[ $(sha256sum ./*.cicada c.folded) == "$sums" ]] || fail "a file was changed"
code 0 "$CICADA" merge a.cicada b.cicada -o ab.cicada
code 0 "$CICADA" report ab.cicada
has out.txt 'samples +200$'
code 0 "$CICADA" merge a.cicada b.cicada c.folded -o ab.cicada --force
code 0 "$CICADA" report ab.cicada
has out.txt 'samples +203$'

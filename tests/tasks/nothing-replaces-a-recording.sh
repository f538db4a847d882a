#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No command replaces a recording that it did not write in this run: not under its default name, not with -o, unless --force says so.
source "$(dirname "$0")/lib.sh"
cp golden.cicada x.cicada
sum=$(sha256sum x.cicada golden.cicada)
code 125 "$CICADA" record -o x.cicada -- touch ran
has err.txt '--force'
[[ ! -e ran ]] || fail "the command ran although its recording could not be written"
code 125 "$CICADA" convert golden.cicada x.cicada
[[ $(sha256sum x.cicada golden.cicada) == "$sum" ]] || fail "a recording was replaced"
code 0 "$CICADA" convert golden.cicada golden.cicada x.cicada --force
code 0 "$CICADA" record -- true
first=$(sha256sum cicada.cicada)
code 0 "$CICADA" record -- true
has err.txt 'recording in cicada\.2\.cicada'
[[ $(sha256sum cicada.cicada) == "$first" ]] || fail "the second recording replaced the first"
code 0 "$CICADA" record --force -- true
[[ $(sha256sum cicada.cicada) != "$first" ]] || fail "--force did not replace it"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One file under two names is refused; one output that fails does not keep the others from being written; an empty command is not run.
source "$(dirname "$0")/lib.sh"
mkdir d
code 125 "$CICADA" record -o a.svg -o ./a.svg -- true
has err.txt 'a\.svg and \./a\.svg: the same output'
code 125 "$CICADA" record -o - -o /dev/stdout -- true
has err.txt 'the same output'
code 125 "$CICADA" convert golden.cicada d/x.folded d/../d/x.folded
mkdir full
mount -t tmpfs -o size=4k tmpfs full || skip "no tmpfs"
at_exit 'umount "$T/full" 2>/dev/null'
code 125 "$CICADA" convert golden.cicada first.folded full/x.html last.folded
has err.txt 'no space left'
[[ -s first.folded && -s last.folded ]] || fail "the outputs beside the failed one are missing"
code 127 "$CICADA" record -- ''
has err.txt "^cicada: '': "

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that waits: the summary says how much CPU it used, that it waited, and an option that shows where, which does.
source "$(dirname "$0")/lib.sh"
code 0 "$CICADA" record -o x.cicada -- sleep 1
has err.txt 'used [0-9.]+ m?s of CPU in [1-9][0-9]*(\.[0-9]+)? s .*mostly waiting'
lacks err.txt 'include-idle'
code 0 "$CICADA" report x.cicada
lacks out.txt 'include-idle'
code 125 "$CICADA" record --include-idle -- touch ran
has err.txt 'belongs to no process'
[[ ! -e ran ]] || fail "the command was run"
code 0 "$CICADA" offcpu -o y.cicada -- sleep 1
has err.txt 'nanosleep'
lacks err.txt 'cicada offcpu'
code 0 "$CICADA" report y.cicada --by state
has out.txt 'sleep'

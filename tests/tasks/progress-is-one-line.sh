#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a terminal a recording says how far it is, in one line that is rewritten and gone at the end; not with -q, not into a file, and not between the
# lines of a command that writes on the same terminal.
source "$(dirname "$0")/lib.sh"
on_terminal() { python3 "$LIVE/../tasks/on_terminal.py" "$@" >shown; }
start_workload split
on_terminal 70 "$CICADA" record -F 199 -d 3.2 -p "$pid" -o x.cicada --force || fail "record ended with $?"
tr '\r' '\n' <shown | grep -aE '^.\[K' | tr -d '\033' | sed 's/^\[K//' >lines
has lines '^[23] s of 3 s  [1-9][0-9,]* samples  [0-9.]+ % (hot|warm)[^ ]*  [0-9.]+ % lost$'
[[ $(awk 'length > 69' lines) == "" ]] || fail "a line that wraps: $(<lines)"
[[ $(tail -n 1 lines) == "" ]] || fail "the last line is still there: $(tail -n 1 lines)"
[[ $(grep -c 'samples ' lines) -ge 2 ]] || fail "it was not rewritten: $(<lines)"
# What it says is true: no more than there was at the end, and of that function.
last=$(grep -oE '[0-9,]+ samples' lines | tail -n 1 | tr -d ', a-z')
"$CICADA" report x.cicada --json | python3 -c 'import json, sys; d = json.load(sys.stdin); exit(not 0.3 * d["total"] < int(sys.argv[1]) <= d["total"])' "$last" ||
  fail "$last samples"
on_terminal 70 "$CICADA" record -q -F 199 -d 1.5 -p "$pid" -o q.cicada || fail "record -q ended with $?"
[[ ! -s shown ]] || fail "-q: $(<shown)"
"$CICADA" record -F 199 -d 1.5 -p "$pid" -o f.cicada 2>err.txt || fail "record ended with $?"
lacks err.txt 'lost$|\[K|recording …'
on_terminal 70 "$CICADA" record -F 199 -o c.cicada -- sh -c 'for i in 1 2 3 4; do echo "line $i"; sleep 0.5; done' || fail "record ended with $?"
has <(tr -d '\r' <shown) '^line 3$'
lacks shown 'Ctrl-C'

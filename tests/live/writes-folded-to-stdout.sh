#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -o -: the data on standard output, everything else on standard error.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -p "$$" -d 0.2 -o - >stdout 2>err || fail "record ended with $?"
start_workload split
record_while_working 1 "$pid" -F 997 -p "$pid" -o - >stdout
[[ $(grep -cE ' [0-9]+$' stdout) == $(grep -c . stdout) ]] || fail "a line that is not folded"
grep -qE ';hot [0-9]+$' stdout || fail "no hot"

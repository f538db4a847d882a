#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -o -: the data on standard output, everything else on standard error.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -p "$$" -d 0.2 -o - >stdout 2>err || fail "record ended with $?"
start "$WORKLOADS/split" 10
wait_for 10 said_something
"$CICADA" record -F 997 -p "$pid" -d 1 -o - >stdout 2>err || fail "record ended with $?"
[[ $(grep -cE ' [0-9]+$' stdout) == $(grep -c . stdout) ]] || fail "a line that is not folded"
grep -qE ';hot [0-9]+$' stdout || fail "no hot"

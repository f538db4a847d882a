#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A command that is over at once, and a pid that has just gone.
source "$(dirname "$0")/lib.sh"
for i in 1 2 3 4 5; do "$CICADA" record -q -o x.folded -- true 2>err || fail "record -- true ended with $?"; done
sleep 0 &
gone=$!
wait "$gone"
expect_error 125 "-p $gone" "$CICADA" record -p "$gone" -o y.folded

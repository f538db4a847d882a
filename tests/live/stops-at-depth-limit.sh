#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More frames than are walked: cut at 1,024, said so, and still counted.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 997 -o recording.txt --stats -- "$WORKLOADS/recursion" 1 3000 >truth 2>err || fail "record ended with $?"
grep -qE '^ +[1-9][0-9,]* +depth limit' err || fail "the summary does not name the depth limit"

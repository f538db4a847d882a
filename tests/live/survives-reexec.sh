#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same process executes the same path again, and another file is there; then one that executes its own deleted file.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/reexec_one" here
cp "$WORKLOADS/reexec_two" next
"$CICADA" record -F 997 -o recording.txt -- "$T/here" 1 "$T/next" >truth 2>err || fail "record ended with $?"
compare_with_truth here
cp "$WORKLOADS/reexec_self" self
"$CICADA" record -F 997 -o recording.txt -- "$T/self" 2 >truth 2>err || fail "record ended with $?"
ANY_NAME=1 compare_with_truth self

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 200 processes of 20 ms of CPU time each: all that these tests know of processes that are over before anybody has looked at them.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 3999 -o recording.txt -- "$WORKLOADS/exec_storm" 0.02 200 >truth 2>err || fail "record ended with $?"
WALK=short compare_with_truth short_lived

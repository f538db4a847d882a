#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recorded process exits: so does the recording, with a result.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
cp out truth
begin_record -F 997 -p "$pid" -o recording.txt
let_work 2 "$pid"
kill_and_wait "$pid"
wait_for_recorder || fail "record ended with $?"
compare_with_truth chain_gcc_O2_pie

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C once: the recording ends, the results are written.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
cp out truth
record_while_working 2 "$pid" -F 997 -p "$pid" -o recording.txt -o flame.svg >/dev/null
[[ -s flame.svg ]] || fail "no flame graph"
compare_with_truth chain_gcc_O2_pie

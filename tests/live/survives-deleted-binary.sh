#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The file is gone before the recording begins.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/chain_gcc_O2_pie" here
start_workload ./here
rm here
record_while_working 1 "$pid" -F 997 -p "$pid" -o recording.txt
cp out truth
compare_with_truth here

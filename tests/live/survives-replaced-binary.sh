#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Another program has taken the path: the names are still those of the one that runs.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/chain_gcc_O2_pie" here
start_workload ./here
cp "$WORKLOADS/split" other && mv other here
record_while_working 1 "$pid" -F 997 -p "$pid" -o recording.txt
cp out truth
compare_with_truth here

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Another program has taken the path: the names are still those of the one that runs.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/chain_gcc_O2_pie" here
start ./here 20
wait_for 10 said_something
cp "$WORKLOADS/split" other && mv other here
"$CICADA" record -F 997 -d 1 -p "$pid" -o recording.txt 2>err || fail "record ended with $?"
cp out truth
compare_with_truth here

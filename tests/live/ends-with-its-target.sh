#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recorded process exits: so does the recording, with a result.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 3
wait_for 10 said_something
cp out truth
timeout 30 "$CICADA" record -F 997 -p "$pid" -o recording.txt 2>err || fail "record ended with $?"
compare_with_truth chain_gcc_O2_pie

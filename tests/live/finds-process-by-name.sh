#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -p NAME, and several at once.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/chain_gcc_O2_pie" liveone_x && cp "$WORKLOADS/split" livetwo_x
start ./liveone_x 20
wait_for 10 said_something
cp out truth
start ./livetwo_x 20
wait_for 10 said_something
"$CICADA" record -F 499 -d 2 -p liveone_x,livetwo_x -o recording.txt 2>err || fail "record ended with $?"
compare_with_truth liveone_x
cp out truth
compare_with_truth livetwo_x

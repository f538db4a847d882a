#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -p NAME, and several at once.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/chain_gcc_O2_pie" liveone_x && cp "$WORKLOADS/split" livetwo_x
start_workload ./liveone_x
cp out truth
one=$pid
start_workload ./livetwo_x
begin_record -F 997 -p liveone_x,livetwo_x -o recording.txt
let_work 1 "$one"
let_work 1 "$pid"
end_record || fail "record ended with $?"
compare_with_truth liveone_x
cp out truth
compare_with_truth livetwo_x

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The leader's pthread_exit is not the end of the process: neither while it is recorded nor before.
source "$(dirname "$0")/lib.sh"
record_truth -- leader_exits 2
start "$WORKLOADS/leader_exits" 30
leader_is_gone() { grep -q '^State:.*Z' "/proc/$pid/status"; }
wait_for 10 leader_is_gone
wait_for 10 said_something
sleep 0.5 # the library is mapped by then
"$CICADA" record -F 997 -d 2 -p "$pid" -o recording.txt 2>err || fail "record -p ended with $?"
cp out truth
compare_with_truth leader_exits
"$CICADA" record -F 997 -d 2 -a -o recording.txt 2>err || fail "record -a ended with $?"
sed -i '/^complete/d' truth # of the machine nobody promised
compare_with_truth leader_exits

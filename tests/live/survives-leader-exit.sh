#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The leader's pthread_exit is not the end of the process: neither while it is recorded nor before.
source "$(dirname "$0")/lib.sh"
record_truth -- leader_exits 2
start_workload leader_exits
leader_is_gone() { grep -q '^State:.*Z' "/proc/$pid/status"; }
wait_for leader_is_gone
library_is_mapped() { grep -qs libplugin_one /proc/"$pid"/task/*/maps; }
wait_for library_is_mapped
record_while_working 2 "$pid" -F 997 -p "$pid" -o recording.txt
cp out truth
compare_with_truth leader_exits
record_while_working 2 "$pid" -F 997 -a -o recording.txt
sed -i '/^complete/d' truth # of the machine nobody promised
compare_with_truth leader_exits

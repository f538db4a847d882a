#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A signal on an alternate stack inside another signal, once tables are loaded: the copy for user space holds one stack, not two.
source "$(dirname "$0")/lib.sh"
start_workload nested_signals
record_while_working 5 "$pid" -F 997 -p "$pid" -o all.txt
kill_and_wait "$pid"
settled <all.txt >recording.txt
sed '/^complete/d' out >truth
compare_with_truth nested_signals
read -r judged whole < <(awk '/^[^ \t]/ { ++n; if (!/\(incomplete: /) ++whole } END { print n + 0, whole + 0 }' recording.txt)
echo "$whole of the last $judged stacks are complete"
((judged >= 1500 && whole * 1000 >= judged * 999)) || fail "$whole of the last $judged stacks are complete"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGSTOP. Of the workload: no sample while it is stopped, and the rest is right. Of cicada: what its ring does not hold
# is counted by its reason, the account adds up, and what came after is right.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 60
wait_for 10 said_something
cp out truth
"$CICADA" record -F 997 -d 4 -p "$pid" -o recording.txt 2>err &
cicada=$!
started+=("$cicada")
sleep 1
kill -STOP "$pid"
begin=$(awk '{ print $1 }' /proc/uptime)
sleep 1.5
end=$(awk '{ print $1 }' /proc/uptime)
kill -CONT "$pid"
wait "$cicada" || fail "record ended with $?"
during=$(awk -v begin="$begin" -v end="$end" '/^[^\t].*: [0-9]+ [^ ]+:$/ { sub(":", "", $4); if ($4 > begin + 0.05 && $4 < end - 0.05) n++ } END { print n + 0 }' recording.txt)
[[ $during == 0 ]] || fail "$during samples while the workload was stopped"
compare_with_truth chain_gcc_O2_pie

"$CICADA" record -a -e cpu-clock -F 4999 -d 5 --stats -o recording.txt 2>err &
cicada=$!
started+=("$cicada")
sleep 1.5
kill -STOP "$cicada"
sleep 1.5
kill -CONT "$cicada"
wait "$cicada" || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err recording.txt cpu-clock=4999 || fail "the account does not add up"
sed -i '/^complete/d' truth  # what others began meanwhile may be unknown
compare_with_truth chain_gcc_O2_pie

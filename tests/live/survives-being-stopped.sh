#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SIGSTOP. Of the workload: no sample while it is stopped, and the rest is right. Of cicada: what its ring does not hold
# is counted by its reason, the account adds up, and what it wrote from then on is right.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
cp out truth
begin_record -F 997 -p "$pid" -o recording.txt
let_work 1 "$pid"
kill -STOP "$pid"
stopped() { grep -q '^State:.*T' "/proc/$pid/status"; }
wait_for stopped
begin=$(now)
sleep 1.5
end=$(now)
kill -CONT "$pid"
let_work 1 "$pid"
end_record || fail "record ended with $?"
during=$(awk -v begin="$begin" -v end="$end" '/^[^\t].*: [0-9]+ [^ ]+:$/ { time = $4 + 0; if (time > begin + 0.01 && time < end + 0) n++ } END { print n + 0 }' recording.txt)
[[ $during == 0 ]] || fail "$during samples while the workload was stopped"
compare_with_truth chain_gcc_O2_pie

begin_record -a -e cpu-clock -F 4999 --stats -o recording.txt
let_work 1 "$pid"
known=$(now)  # of a whole machine it does not know everybody at once
kill -STOP "$recorder"
sleep 1.5
kill -CONT "$recorder"
let_work 1 "$pid"
end_record || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err recording.txt cpu-clock=4999 || fail "the account does not add up"
perl -i -00 -ne "print if /\\] +([0-9.]+): / && \$1 > $known" recording.txt
sed -i '/^complete/d' truth  # what others began meanwhile may be unknown
compare_with_truth chain_gcc_O2_pie

# Of a program that begins and ends meanwhile nothing is known before: a copy of each of its stacks waits in the ring, not of what lies above a thread's.
"$CICADA" record --stats -e "uprobe:$WORKLOADS/hits:hit" -o x.folded -- sh -c 'kill -STOP $PPID; "$0" 1 500; kill -CONT $PPID' "$WORKLOADS/hits" >out 2>err || fail "record ended with $?"
whole=$(awk '/;(shop::Till::pay|pay)[^;]*;hit [0-9]*$/ && !/\[truncated\]|\[incomplete/ { sum += $NF } END { print sum + 0 }' x.folded)
((whole >= 495)) || fail "of 500 stacks of small threads $whole are whole: $(cut -c1-300 x.folded)"

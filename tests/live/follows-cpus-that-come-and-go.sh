#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A CPU goes offline while recording and comes back: the account adds up, and it is sampled again afterwards.
source "$(dirname "$0")/lib.sh"
last=$(($(nproc --all) - 1))
switch=/sys/devices/system/cpu/cpu$last/online
((last > 0)) && [[ -w $switch ]] || skip "no CPU can be taken offline"
at_exit 'echo 1 >$switch'
start_workload chain_gcc_O2_pie
grep -v complete out >truth  # of others, what began on that CPU before it was noticed again may not be
# Somebody is always on that CPU when it is there.
busy() { while true; do taskset -c $last bash -c 'for ((i = 0; i < 20000; i++)); do :; done' 2>/dev/null || sleep 0.1; done; }
busy &
started+=($!)
begin_record -a -e cpu-clock -F 997 --stats -o recording.txt
sleep 2
echo 0 >"$switch" || skip "CPU $last cannot be taken offline"
off=$(now)
sleep 1.5
on=$(now)
echo 1 >"$switch"
sleep 4
end_record || fail "record ended with $?"
python3 -B "$LIVE/accounting.py" err recording.txt || fail "the account does not add up"
compare_with_truth chain_gcc_O2_pie
read -r before during after < <(awk -v cpu="[$(printf %03d $last)]" -v off="$off" -v on="$on" '
  /^[^\t].*: [0-9]+ [^ ]+:$/ && index($0, cpu) { match($0, /[0-9]+\.[0-9]+: /); t = substr($0, RSTART, RLENGTH) + 0; if (t < off) b++; else if (t < on) d++; else a++ }
  END { print b + 0, d + 0, a + 0 }' recording.txt)
echo "CPU $last: $before samples before, $during while it was away, $after after"
((before > 500 && during == 0 && after > 500)) || fail "CPU $last: $before samples before, $during while it was away, $after after"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two cicadas at once, one of the machine and one of the workload: the account of each adds up, and each is right about the workload.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/chain_gcc_O2_pie" 60
wait_for 10 said_something
cp out truth
"$CICADA" record -a -e cpu-clock -F 997 -d 3 --stats -o machine.txt 2>machine.err &
machine=$!
started+=("$machine")
"$CICADA" record -e cpu-clock -F 499 -d 3 --stats -p "$pid" -o one.txt 2>one.err &
one=$!
started+=("$one")
wait "$machine" || fail "record -a ended with $?"
wait "$one" || fail "record -p ended with $?"
for which in machine:997 one:499; do
  cp "${which%:*}.txt" recording.txt
  cp "${which%:*}.err" err
  python3 -B "$LIVE/accounting.py" err recording.txt "cpu-clock=${which#*:}" || fail "the account of ${which%:*} does not add up"
  compare_with_truth chain_gcc_O2_pie
done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two cicadas at once, one of the machine and one of the workload: the account of each adds up, and each is right about the workload.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
begin_record -a -e cpu-clock -F 997 --stats -o machine.txt
machine=$recorder
mv err machine.err
begin_record -e cpu-clock -F 499 --stats -p "$pid" -o one.txt
one=$recorder
mv err one.err
let_work 2 "$pid"
for recorder in "$one" "$machine"; do end_record || fail "record ended with $?"; done
for which in machine:997 one:499; do
  cp "${which%:*}.txt" recording.txt
  cp "${which%:*}.err" err
  cp out truth
  [[ $which != machine:* ]] || sed -i '/^complete/d' truth  # its summary tells of others, too
  python3 -B "$LIVE/accounting.py" err recording.txt "cpu-clock=${which#*:}" || fail "the account of ${which%:*} does not add up"
  compare_with_truth chain_gcc_O2_pie
done

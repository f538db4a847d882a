#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program on a file system that answers nobody any more: the loop does not wait, others are named, one line says so.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
start_workload chain_gcc_O2_pie
cp out truth
kill -USR1 "$fs"
begin_record -F 997 -p "$victim" -p "$pid" -o recording.txt --stats
let_work 2 "$victim"
let_work 2 "$pid"
end_record_soon "$victim"
sed -i '/^complete/d' truth
compare_with_truth chain_gcc_O2_pie
[[ $(grep -c 'does not answer' err) == 1 ]] || fail "not one line about the file system"
awk '/ring drained/ { sub(/.*longest gap /, ""); if ($1 > 500) exit 1 }' err || fail "the loop waited"
grep -q "^program $victim/" recording.txt || fail "the program's samples are missing"

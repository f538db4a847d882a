#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program on a file system that answers nobody any more: the loop does not wait, others are named, one line says so.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
start "$WORKLOADS/chain_gcc_O2_pie" 60
wait_for 10 said_something
cp out truth
kill -USR1 "$fs"
begin=$SECONDS
timeout 60 "$CICADA" record -F 997 -d 4 -p "$victim" -p "$pid" -o recording.txt --stats 2>err || fail "record ended with $?"
((SECONDS - begin <= 12)) || fail "a recording of 4 s took $((SECONDS - begin)) s"
sed -i '/^complete/d' truth
compare_with_truth chain_gcc_O2_pie
[[ $(grep -c 'does not answer' err) == 1 ]] || fail "not one line about the file system"
awk '/ring drained/ { sub(/.*longest gap /, ""); if ($1 > 500) exit 1 }' err || fail "the loop waited"
grep -q "^program $victim/" recording.txt || fail "the program's samples are missing"

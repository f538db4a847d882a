#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /proc mounted with hidepid: who may see everything anyway is not bothered; who may not gets one line that says so, and a recording.
source "$(dirname "$0")/lib.sh"
start_workload chain_gcc_O2_pie
cp out truth
hidden=(unshare --mount bash -c 'mount -t proc -o hidepid=invisible none /proc && exec "$@"' hidden)
"${hidden[@]}" "$CICADA" record -F 997 -p "$pid" -o recording.txt 2>err &
recorder=$!
started+=("$recorder")
wait_for samples_or_ended
let_work 1 "$pid"
end_record || fail "record ended with $?"
compare_with_truth chain_gcc_O2_pie
! grep -q hidepid err || fail "root can see everything and was told otherwise"
# Without the capability others cannot be seen; the recording says so once and goes on.
"${hidden[@]}" setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace --regid=65534 --clear-groups "$CICADA" record -F 499 -a -d 1 -o x.folded 2>err || fail "record -a ended with $?"
[[ $(grep -c hidepid err) == 1 ]] || fail "not one line about hidepid"
[[ $(grep -c 'Permission denied' err) -le 2 ]] || fail "a line for each process that is hidden"
[[ -s x.folded ]] || fail "nothing recorded"

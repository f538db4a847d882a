#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -t: only this thread's samples.
source "$(dirname "$0")/lib.sh"
start_workload threads
thread_named() { for task in /proc/"$pid"/task/*; do [[ $(<"$task/comm") == "$1" ]] && basename "$task" && return; done; return 1; }
wait_for thread_named green >/dev/null
tid=$(thread_named green)
record_while_working 1 "$pid/task/$tid" -F 997 -t "$tid" -o recording.txt
others=$(grep -E '^[^[:space:]]' recording.txt | grep -vc "/$tid " || true)
own=$(grep -cE "^green $pid/$tid " recording.txt || true)
[[ $others == 0 && $own -ge 100 ]] || fail "$own samples of the thread, $others of others"

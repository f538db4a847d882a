#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -t: only this thread's samples.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/threads" 20
wait_for 10 said_something
thread_named() { for task in /proc/"$pid"/task/*; do [[ $(<"$task/comm") == "$1" ]] && basename "$task" && return; done; return 1; }
wait_for 10 thread_named green >/dev/null
tid=$(thread_named green)
"$CICADA" record -F 997 -d 1 -t "$tid" -o recording.txt 2>err || fail "record ended with $?"
others=$(grep -E '^[^[:space:]]' recording.txt | grep -vc "/$tid " || true)
own=$(grep -cE "^green $pid/$tid " recording.txt || true)
[[ $others == 0 && $own -ge 100 ]] || fail "$own samples of the thread, $others of others"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -t: only this thread's samples.
source "$(dirname "$0")/lib.sh"
start_workload threads
thread_named() { for task in /proc/"$pid"/task/*; do [[ $(<"$task/comm") == "$1" ]] && basename "$task" && return; done; return 1; }
wait_for thread_named green >/dev/null
tid=$(thread_named green)
record_while_working 1 "$pid/task/$tid" -F 997 -t "$tid" -o recording.txt -o x.cicada
others=$(grep -E '^[^[:space:]]' recording.txt | grep -vc "/$tid " || true)
own=$(grep -cE "^green $pid/$tid " recording.txt || true)
[[ $others == 0 && $own -ge 100 ]] || fail "$own samples of the thread, $others of others"
# What it used is its own, not its process's, of which it is one of several that compute.
read -r used < <("$CICADA" report --json x.cicada | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["cpu_ns"] // 1000000)') || true
((used >= 100 && used <= 1500)) || fail "$used ms of CPU time by the account, in 1 s of one thread"

# One that ends while cicada starts is no failure where another one goes on; alone it is, in one line.
sleep 0.3 & ends=$!
"$CICADA" record -q -t "$ends,$tid" -d 1 -o y.cicada 2>err || fail "a thread that ended: $?, $(cat err)"
wait "$ends"
sleep 0.3 & ends=$!
"$CICADA" record -q -t "$ends" -d 5 -o w.cicada 2>err || [[ $(wc -l <err) == 1 ]] || fail "of a thread that ended not one line: $(cat err)"
wait "$ends"

# --children: of a process that forks all the time.
bash -c 'while true; do sleep 0.01 & wait; done' & forks=$!
started+=("$forks")
for turn in 1 2 3; do "$CICADA" record -q --force -p "$forks" --children -d 0.3 -o z.cicada 2>err || fail "--children ended with $?: $(cat err)"; done

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads that wait already when a recording begins, and still when it ends: no switch shows them, and they are there all the same, with their stacks.
# So what a thread that hardly computes waits is all of the time. A stack that is a file's is not read, because a file system may not answer.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/waits" "$FOREVER"
wait_for eval '[[ $(cat /proc/$pid/task/*/comm | grep -c -e "^stays" -e "^computes") == 5 ]]'
sleep 0.1  # until the last of them waits
ran() { for thread in /proc/$pid/task/*; do echo "$(cat "$thread/comm") $(cut -d' ' -f1 "$thread/schedstat")"; done; }
ran >before
"$CICADA" record --stats -e off-cpu/period=1000000/ -p "$pid" -d 2 -o x.folded --by thread,state 2>err || fail "record -p ended with $?"
ran >after
python3 -B "$LIVE/waits.py" --all-along x.folded "$(sed -n 's/^.* waits in \([0-9.]*\) s .*/\1/p' err)" 0.03 before after || fail "a thread waited for more, or less, than all of the time"

# One that sleeps all the time is the whole recording.
start sleep "$FOREVER"
wait_for eval '[[ $(cat /proc/$pid/wchan) == hrtimer_nanosleep ]]'
"$CICADA" offcpu --stats -p "$pid" -d 1 -o y.folded 2>err || fail "offcpu -p ended with $?"
awk '/;clock_nanosleep;.*hrtimer_nanosleep/ { sum += $NF } END { exit !(NR == 1 && sum > 0.95e9) }' y.folded || fail "not one wait: $(cat y.folded)"
grep -q '^1 waits in' err && grep -q ' 100 % of 1 user stack' err || fail "its stack is not complete"

# A thread of the kernel's is told where it is asked for. Nothing of ours is left behind.
"$CICADA" offcpu -a --kernel-threads -d 0.5 -o k.folded --by thread 2>err || fail "offcpu -a ended with $?"
awk '/^kthreadd/ { sum += $NF } END { exit !(sum > 0.45e9) }' k.folded || fail "kthreadd did not wait: $(grep kthreadd k.folded)"

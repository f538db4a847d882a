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

# What a thread ran, by the scheduler's account, and what it waited are together as long as the recording, but for interrupts and what a hypervisor took.
# A clock's samples are too few to say it.
taken() { awk '/^cpu / { print ($7 + $8 + $9) / '"$(getconf CLK_TCK)"' }' /proc/stat; }
for events in "-e off-cpu/period=100000/" "-e cpu-clock -F 29 -e off-cpu/period=100000/"; do
  before=$(taken)
  "$CICADA" record --force --stats $events -p "$pid" -d 2 -o both.cicada 2>err || fail "record of both ended with $?"
  taken=$(awk "BEGIN { print $(taken) - $before }")
  length=$(sed -n 's/^.* waits in \([0-9.]*\) s .*/\1/p' err)
  "$CICADA" report --states both.cicada >states || fail "report --states ended with $?"
  head -n 1 states | grep -qE '^ +total +on CPU .* thread$' || fail "not the columns: $(head -n 1 states)"
  awk -v length_s="$length" -v taken="$taken" '{ total = $1 * ($2 == "ms" ? 0.001 : 1) }
       / (computes|stays|sleeps|reads|polls|moves|holds) \(/ { n++; if (total < 0.98 * length_s - taken || total > 1.02 * length_s) { print "WRONG", length_s, taken, $0; bad++ } }
       / computes \(/ { ran += $3 * ($4 == "ms" ? 0.001 : 1) }
       END { exit !(n == 9 && bad == 0 && ran > 0) }' states || fail "on a CPU and waiting is not all of the time: $(cat states)"
done

# Also of threads that end: their time is known when the kernel frees them. A thread's first time in the run queue is not seen.
before=$(taken)
"$CICADA" record -q -e off-cpu/period=100000/ -o ended.cicada -- "$WORKLOADS/waits" 1 >truth || fail "record -- waits ended with $?"
taken=$(awk "BEGIN { print $(taken) - $before }")
"$CICADA" report --states ended.cicada >states || fail "report --states ended with $?"
awk -v taken="$taken" '/ (computes|stays|sleeps|reads|polls|moves|holds) \(/ { n++; if ($1 * ($2 == "ms" ? 0.001 : 1) < 0.95 - taken) { print "WRONG", $0; bad++ } } END { exit !(n == 9 && bad == 0) }' states ||
  fail "threads that ended: $(cat states)"

# One that sleeps all the time is the whole recording.
start sleep "$FOREVER"
wait_for eval '[[ $(cat /proc/$pid/wchan) == hrtimer_nanosleep ]]'
"$CICADA" offcpu --stats -p "$pid" -d 1 -o y.folded 2>err || fail "offcpu -p ended with $?"
awk '/;clock_nanosleep;.*hrtimer_nanosleep/ { sum += $NF } END { exit !(NR == 1 && sum > 0.95e9) }' y.folded || fail "not one wait: $(cat y.folded)"
grep -q '^1 wait in' err && grep -q ' 100 % of 1 user stack' err || fail "its stack is not complete"

# So is one that is stopped.
kill -STOP "$pid"
wait_for grep -q '^State:.*T' "/proc/$pid/status"
"$CICADA" offcpu -p "$pid" -d 1 -o z.folded 2>err || fail "offcpu -p ended with $?"
awk '/^stopped;/ { sum += $NF } END { exit !(NR == 1 && sum > 0.95e9) }' z.folded || fail "not one stop: $(cat z.folded)"
kill -CONT "$pid"

# A thread of the kernel's is told where it is asked for.
"$CICADA" offcpu -p "$pid" --kernel-threads -d 0.1 -o none.folded 2>err && fail "a process has no kernel threads"
[[ $(wc -l <err) == 1 ]] && grep -q 'goes with -a' err || fail "not the message: $(cat err)"
"$CICADA" offcpu -a --kernel-threads -d 0.5 -o k.folded --by thread 2>err || fail "offcpu -a ended with $?"
awk '/^kthreadd/ { sum += $NF } END { exit !(sum > 0.45e9) }' k.folded || fail "kthreadd did not wait: $(grep kthreadd k.folded)"

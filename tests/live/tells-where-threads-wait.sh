#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where threads wait: each thread's waits add up to what it says by its own clocks, in the function and the state where it waits, also where it wakes on
# another CPU, is preempted, stopped, or waits so briefly that only some of its waits are kept. Stacks are whole, and every wait is accounted for.
source "$(dirname "$0")/lib.sh"
"$CICADA" record --stats -e off-cpu/period=1000000/ -e cpu-clock -o x.cicada -- "$WORKLOADS/waits" 4 >truth 2>err || fail "record ended with $?"
grep -q '^waited computes' truth || fail "the workload said nothing"
"$CICADA" report --json --event off-cpu --by thread,state x.cicada >report.json || fail "report ended with $?"
"$CICADA" convert --event off-cpu --by thread,state x.cicada x.folded >/dev/null || fail "convert ended with $?"
[[ $(python3 -c 'import json; print(json.load(open("report.json"))["unit"])') == ns ]] || fail "not in ns"

python3 "$LIVE/waits.py" x.folded truth 0.02 0.004 || fail "not what the threads say"
(($(sed -n 's/^moved //p' truth) > 20)) || [[ $(nproc) == 1 ]] || fail "no thread woke on another CPU: nothing was shown"

# What is stored stands for the time of all waits that ended.
python3 - err <<'PY' || fail "the account does not add up"
import re, sys
text = open(sys.argv[1]).read()
waited = int(re.search(r"([0-9,]+) +ns waited, by all", text)[1].replace(",", ""))
kept = sum(int(line.rsplit(" ", 1)[1]) for line in open("x.folded"))
print(f"{waited / 1e9:.3f} s by all waits, {kept / 1e9:.3f} s stored")
if abs(kept - waited) > 0.02 * waited: sys.exit("not the same")
if re.search(r"\n +[1-9][0-9,]* +[0-9.]+ %  lost", text[text.index(" waits in "):text.index(" samples in ")]): sys.exit("waits were lost")
PY
grep -Eq '(100(\.0+)?|99\.[0-9]+) % of [0-9,]+ user stacks are complete' err || fail "stacks are not complete"

# Each switch away from a thread is a wait, by the kernel's count; hardly any is kept.
"$CICADA" record -q -e off-cpu/period=3000000000000/ -o n.cicada -- "$WORKLOADS/waits" 2 >truth 2>err || fail "record ended with $?"
"$CICADA" report --json n.cicada | python3 -c '
import json, re, sys
seen, switches = json.load(sys.stdin)["header"]["fired"], int(re.search(r"switched (\d+)", open("truth").read())[1])
print(f"{switches} switches, {seen} waits")
sys.exit(abs(seen - switches) > 0.01 * switches + 20)' || fail "another number of waits"

# How long and how often threads waited for a CPU, by the scheduler's account. A thread's first time is not seen. With wakeups both ends are seen to 64 ns, not
# to 1,024, so each one counts, but for those that were woken before they had left their CPU; but a waker's stack is time, too, for whoever is woken.
cat >judge.py <<'PY'
import re, sys
ns, times = map(int, re.search(r"queued (\d+) (\d+)", open("truth").read()).groups())
text = open("states").read()
amount, unit, waits = re.search(r"waiting for a CPU: ([0-9.]+) (\S+) in about ([0-9,]+) waits;", text).groups()
seconds, waits = float(amount) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit], int(waits.replace(",", ""))
rows = [(int(row[0].replace(",", "")), row[1]) for row in re.findall(r"^ +[0-9.]+ [nµm]?s +([0-9,]+)( .*)?$", text[text.index("waiting for a CPU"):], re.M)]
print(f"{ns / 1e9:.3f} s in {times} waits, {seconds} s in {waits}")
if sys.argv[1] == "time" and abs(seconds - ns / 1e9) > 0.03 * ns / 1e9: sys.exit("another time")
if sys.argv[1] == "number" and abs(waits - times) > 0.05 * times + 20: sys.exit("another number")
if abs(sum(row[0] for row in rows) - waits) > len(rows): sys.exit("the rows do not add up")
PY
for what in time number; do
  events=(-e off-cpu/period=1/)
  [[ $what == time ]] || events+=(-e wakeups)
  "$CICADA" record --stats "${events[@]}" -o "$what.cicada" -- "$WORKLOADS/waits" 3 >truth 2>err || fail "record ended with $?"
  cp truth "truth.$what"
  "$CICADA" report --states "$what.cicada" >states || fail "report --states ended with $?"
  python3 judge.py $what || fail "another $what of waits for a CPU"
done
# With each wait kept, short ones are as exact as long ones.
"$CICADA" convert --event off-cpu --by thread,state time.cicada time.folded >/dev/null || fail "convert ended with $?"
python3 "$LIVE/waits.py" time.folded truth.time 0.02 0.004 1 || fail "not what the threads say where each wait is kept"

# Only waits of a length; a run-queue time is a wait of its own. A sleeper is moved: some of its sleep may count as that.
"$CICADA" offcpu --min-wait 3500us --max-wait 4500us -c 1 -o y.folded -- "$WORKLOADS/waits" 1 >truth 2>err || fail "offcpu ended with $?"
awk -v slept="$(sed -n 's/^slept //p' truth)" '/^sleep;.*;moves/ { moves += $NF } !/^(runnable|preempted);/ && (/;sleeps_briefly/ || /;polls/) { others += $NF }
  END { printf "%d sleeps of 4 ms, found %.3f s; others %.3f s\n", slept, moves / 1e9, others / 1e9; exit !(moves > 0.8 * slept * 4e6 && moves < 1.125 * slept * 4e6 && others < moves / 20) }' y.folded || fail "--min-wait, --max-wait"
grep -q '^sleep;' y.folded || fail "not by state"
refused() { "$CICADA" record "$@" -o z.cicada -- true 2>err && fail "accepted: $*"; [[ $(wc -l <err) == 1 ]] || fail "not one line: $*"; }
refused --min-wait 1ms
grep -q 'cicada offcpu' err || fail "no remedy"
refused -e off-cpu --min-wait 2ms --max-wait 1ms
refused -e off-cpu --wakers --cpu 0
grep -q 'leave out --cpu' err || fail "no remedy"
refused -e off-cpu -e wakeups --cpu 0
grep -q 'leave out --cpu' err || fail "no remedy"
[[ $(nproc) == 1 ]] || "$CICADA" record -q -e off-cpu --cpu 1 -a -d 1 -o c.txt 2>err || fail "--cpu ended with $?"
[[ $(nproc) == 1 ]] || grep -Eq '\[001\]' c.txt && ! grep -E '\[0(00|[1-9][0-9]|0[2-9])\]' c.txt || fail "waits that ended elsewhere: --cpu 1"

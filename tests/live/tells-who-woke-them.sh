#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Who ends the waits of threads: over pipes, conditions, mutexes, TCP, signals, ends of threads and processes, of another process, too, each waker is there
# in the function in which it wakes, with what the others have waited for it by its own clock and theirs, in the state in which they waited. Who sleeps is
# woken by an interrupt, and never by the thread that it interrupts.
source "$(dirname "$0")/lib.sh"
"$CICADA" record --stats -e off-cpu/period=1000000/ -e wakeups -o x.cicada -- "$WORKLOADS/wakes" 3 >truth 2>err || fail "record ended with $?"
"$CICADA" convert --event wakeups --by thread,state x.cicada x.folded >/dev/null || fail "convert ended with $?"
python3 -B "$LIVE/wakes.py" x.folded truth 0.02 || fail "not who woke them"

# Nothing was lost; who has been woken has waited as long as off-cpu says, at least.
python3 - err truth <<'PY' || fail "the account does not add up"
import re, sys
text = open(sys.argv[1]).read()
number = lambda pattern: [int(found.replace(",", "")) for found in re.findall(rf"\n *([0-9,]+) {{4,}}{pattern}", text)]
off_cpu, wakeups = number("ns waited, by all waits\n") + number(r"ns waited, by all waits \(wakeups\)")
print(f"{off_cpu / 1e9:.3f} s by all waits, {wakeups / 1e9:.3f} s of them by those that somebody ended; wakers without a stack: {number('wakers without a stack')}")
said = sum(int(line.split()[4]) for line in open(sys.argv[2]) if line.startswith("woken "))
if not 0.9 * said < wakeups <= off_cpu: sys.exit(f"more was ended than waited, or little of {said / 1e9:.3f} s")
blocks = re.findall(r"\d waits in .*\((off-cpu|wakeups),.*\n((?: +[0-9,]+ +[0-9.]+ %  .*\n)+)", text)
if [name for name, _ in blocks] != ["off-cpu", "wakeups"]: sys.exit("not both events")
for name, block in blocks:
    if re.search(r"(?m)^ +[1-9][0-9,]* +[0-9.]+ %  lost", block): sys.exit(f"{name}: some were lost")
if any(number("waits not seen")): sys.exit("waits were not seen")
PY
grep -Eq '(100(\.0+)?|99\.[0-9]+) % of [0-9,]+ user stacks are complete' err || fail "stacks are not complete"

# Three hops over two processes: of what asks waits, answers has slept a third itself and waited for supplies the rest of it, which waited for begins, which
# slept. As long as they say.
"$CICADA" convert --wakers=4 --by thread x.cicada y.folded >/dev/null || fail "convert --wakers ended with $?"
"$CICADA" convert --event off-cpu --by thread,state x.cicada w.folded >/dev/null || fail "convert --event off-cpu ended with $?"
python3 - y.folded truth w.folded <<'PY' || fail "the chain is not that of the program"
import re, sys
said = {tuple(words[1:4]): int(words[4]) / 1e9 for words in map(str.split, open(sys.argv[2])) if words[0] == "woken"}
chains = {"": r"^asks ", "own": r"^asks .*\[woken by answers of wakes\](?!.*supplies).*;\[which waited\].*;answers;.*\[woken by interrupts\]",
          "somebody": r"^asks .*\[woken by somebody\]",
          "begins": r"^asks .*\[woken by answers of wakes\].*;answers;.*\[woken by supplies of wakes\].*;supplies;.*\[woken by begins of wakes\].*;begins;.*\[woken by interrupts\]"}
found = {name: sum(int(line.rsplit(" ", 1)[1]) for line in open(sys.argv[1]) if re.search(pattern, line)) / 1e9 for name, pattern in chains.items()}
# A waker for whose stack there was no time is nobody who could be followed: it is said how much that is.
# Who has been woken may have to wait for a CPU, and then wakes the next one later.
queued = sum(int(line.rsplit(" ", 1)[1]) for line in open(sys.argv[3]) if re.match(r"(asks|answers|supplies|begins) .*?;(runnable|preempted);", line)) / 1e9
waited, slept = said["asks", "io", "answers"], said["answers", "sleep", "interrupts"]
print(f"asks: waited {waited:.3f} s, answers slept {slept:.3f} s of it; found {found['']:.3f} s, in the queue {queued:.3f} s, by somebody {found['somebody']:.3f} s, {found['own']:.3f} s of it by answers itself, {found['begins']:.3f} s through three hops")
slack = 0.04 * waited + queued
if found["somebody"] > 0.5 * waited: sys.exit("WRONG   half of it cannot be followed")
for name, truth in (("own", slept), ("begins", waited - slept)):
    if not truth - slack - found["somebody"] <= found[name] <= truth + slack: sys.exit(f"WRONG   not its shares: {name}")
PY
"$CICADA" report --wakers x.cicada >table || fail "report --wakers ended with $?"
grep -Eq ' ([7-9][0-9]|100)\.[0-9] %  asks of wakes +answers of wakes +asks > ' table || fail "the table does not say whom asks waits for"

# Without the kernel's frames interrupts are told from those whom they interrupt, too.
"$CICADA" record -q --no-kernel -e off-cpu/period=1000000/ -e wakeups -o z.cicada -- "$WORKLOADS/wakes" 1 >truth || fail "record --no-kernel ended with $?"
"$CICADA" convert --event wakeups --by thread z.cicada z.folded >/dev/null
awk '/^computes/ { ns += $NF } END { exit !(ns <= 5000000) }' z.folded || fail "who was interrupted is called a waker: $(grep '^computes' z.folded | head -3)"
grep -q '^interrupts' z.folded || fail "no interrupts"

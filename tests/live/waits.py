# SPDX-License-Identifier: Apache-2.0
"""Fails unless the waits of a recording of tests/workloads/waits are as long as its threads say, in the functions and states where they wait.

usage: waits.py FOLDED TRUTH SHARE SECONDS [PERIOD_NS]
       waits.py --all-along FOLDED SECONDS SHARE BEFORE AFTER

FOLDED: off-cpu, by thread and state, of a recording with a period of PERIOD_NS (1 ms). SHARE: how much of a thread's time may be missing or too much; between its
clock and its switch there are moments that are neither. SECONDS: as much besides, for its beginning and its end, which are outside of its function.

--all-along: of threads that waited before a recording of SECONDS began, and after it had ended. They wait all of that time, but for SHARE of it and
what they ran, by the scheduler's account BEFORE and AFTER it ("THREAD NS" a line).
"""
import collections
import re
import sys

PERIOD_NS = 1e6
# What may be preempted, or is short: each of the waits that are kept is worth the period, so their sum strays by its root.
SHORT = ("sleeps_briefly", "computes", "locks", "syncs", "faults")
# On a slow machine a short sleep is over before it began: how much of it is a sleep is not known.
OVER_SOON = "sleeps_briefly"
STATES = {"sleeps": ["sleep"], "sleeps_briefly": ["sleep"], "moves": ["sleep"], "locks": ["lock"], "holds": ["sleep", "lock"], "reads": ["io"], "receives": ["io"],
          "polls": ["io"], "syncs": ["disk"], "faults": ["page fault"], "stopped": ["stopped"], "stays": ["lock"], "stays_on_a_file": ["lock"], "computes": []}
# How much of what a thread waits is in that state, at least; the rest may be for a CPU. A device is quick: on a busy machine most of it is.
LEAST = {"syncs": 0.02, "faults": 0.02, OVER_SOON: 0}
# Where there is no device to wait for, the workload says so: "without NAME: REASON".
MAY_BE_MISSING = ("syncs", "faults")
READY = ("preempted", "runnable")


def read_truth(lines):
    """{thread: ns it did not run}; threads of one name are added up"""
    said = collections.Counter()
    for line in lines:
        if match := re.match(r"waited (\S+) (\d+)", line):
            said[match[1]] += int(match[2])
    return said


def missing_in(lines):
    """Names that the workload has said nothing of, not even that they cannot be."""
    lines = list(lines)
    excused = {match[1] for line in lines if (match := re.match(r"without (\S+): .", line))}
    return [name for name in STATES if name not in read_truth(lines) and not (name in excused and name in MAY_BE_MISSING)]


def read_waits(lines, names):
    """{(thread, state): ns}, {thread: ns outside its function}"""
    waits, elsewhere = collections.Counter(), collections.Counter()
    for line in lines:
        stack, value = line.rsplit(" ", 1)
        frames = stack.split(";")
        thread = re.sub(r" \(.*", "", frames[0])
        if thread not in names:
            continue
        waits[thread, frames[1]] += int(value)
        if frames[1] not in READY and not any(frame.split("(")[0] == thread for frame in frames[2:]):
            elsewhere[thread] += int(value)
    return waits, elsewhere


def faults_of(said, waits, elsewhere, share, edges_ns, period_ns=PERIOD_NS):
    """What is wrong, in words."""
    faults = []
    if not said:
        faults.append("the workload said nothing")
    for name, waited in said.items():
        states = {state: ns for (thread, state), ns in waits.items() if thread == name}
        found = sum(states.values())
        slack = share * waited + edges_ns + (4 * (waited * period_ns) ** 0.5 if name in SHORT else 0)
        if abs(found - waited) > slack:
            faults.append(f"{name}: waited {waited / 1e9:.4f} s, found {found / 1e9:.4f} s")
        if elsewhere[name] > 0.01 * waited + edges_ns:
            faults.append(f"{name}: {elsewhere[name] / 1e9:.4f} s outside of {name}()")
        if STATES[name]:
            right = sum(states.get(state, 0) for state in STATES[name])
            wrong = sum(ns for state, ns in states.items() if state not in STATES[name] + list(READY))
            if right < LEAST.get(name, 0.2) * found or wrong > 0.01 * found + edges_ns:
                faults.append(f"{name}: not {STATES[name]}: {states}")
        elif states.get("preempted", 0) < 0.5 * found:
            faults.append(f"{name}: not preempted: {states}")
    return faults


def end(faults):
    for fault in faults:
        print("WRONG   " + fault)
    sys.exit(bool(faults))


ALL_ALONG = ("sleeps", "moves", "holds", "reads", "receives", "polls", "stays", "stays_on_a_file")


def read_ran(before, after):
    """{thread: seconds}"""
    ran = collections.Counter()
    for lines, sign in ((before, -1), (after, 1)):
        for line in lines:
            name, ns = line.split()
            ran[name] += sign * int(ns) / 1e9
    return ran


def faults_all_along(lines, seconds, share, ran):
    """What is wrong, in words."""
    faults = []
    lines = list(lines)
    waits, elsewhere = read_waits(lines, ALL_ALONG)
    for name in ALL_ALONG:
        waited = sum(ns for (thread, _), ns in waits.items() if thread == name) / 1e9
        in_queue = sum(ns for (thread, state), ns in waits.items() if thread == name and state in READY)
        strays = 4 * (in_queue * PERIOD_NS) ** 0.5 / 1e9  # most of these are shorter than the period
        print(f"{name}: waited {waited:.4f} s of {seconds:.4f}, ran {ran[name]:.4f} s at most")
        if not (1 - share) * seconds - ran[name] - strays <= waited <= (1 + share / 4) * seconds + strays:
            faults.append(f"{name}: waited {waited:.4f} s of {seconds:.4f}, ran {ran[name]:.4f} s")
    stacks = [line for line in lines if line.startswith("stays (")]
    if len(stacks) != 1 or not re.search(r";lock;.*;run;stays;.*futex", stacks[0]):
        faults.append(f"stays: not one whole stack: {stacks}")
    if elsewhere["stays_on_a_file"] < (1 - share) * seconds * 1e9:
        faults.append("stays_on_a_file: its stack was read")
    return faults


def main():
    if sys.argv[1] == "--all-along":
        folded, seconds, share, before, after = sys.argv[2:]
        end(faults_all_along(open(folded), float(seconds), float(share), read_ran(open(before), open(after))))
    folded, truth, share, seconds, *period = sys.argv[1:]
    truth = open(truth).readlines()
    said = read_truth(truth)
    waits, elsewhere = read_waits(open(folded), said)
    for name, waited in sorted(said.items()):
        print(f"{name}: waited {waited / 1e9:.4f} s, found", {state: round(ns / 1e9, 4) for (thread, state), ns in sorted(waits.items()) if thread == name})
    print("".join(line for line in truth if line.startswith("without ")), end="")
    missing = [f"{name}: the workload said nothing of it" for name in missing_in(truth)]
    end(missing + faults_of(said, waits, elsewhere, float(share), float(seconds) * 1e9, *map(float, period)))


if __name__ == "__main__":
    main()

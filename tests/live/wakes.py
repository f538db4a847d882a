# SPDX-License-Identifier: Apache-2.0
"""Fails unless those who wake threads in a recording of tests/workloads/wakes are those who did, as long as their threads say.

usage: wakes.py FOLDED TRUTH SHARE

FOLDED: wakeups, by thread and state. SHARE: how much of what was waited for a thread may be missing, too much, or elsewhere; what is shorter than the
period strays besides.
"""
import collections
import re
import sys

# The function that a waker is in, where it is not one of its own name: who ends has left it; an interrupt has its own.
FUNCTIONS = {"quits": "do_exit", "ends": "do_exit", "interrupts": "hrtimer_interrupt"}
COMPUTES = "computes"
STRAYS = 5  # samples of nobody in particular
# So much of each may be without a stack: beside others the time for them is short. An interrupt has no name then. And what is sent over TCP may be
# delivered by a thread of the kernel's, which does the work of interrupts where there is much.
BARE = 0.25
DELIVERS = "ksoftirqd/"
# The kernel's own locks, of the memory map that threads share: whoever has one wakes those who wait for it, while it forks, maps or touches memory. The
# program knows nothing of that.
KERNEL_LOCK = "rwsem_wake"
LOCKS = 0.05  # of all that was waited; 0.0025 where page faults are slowest, under emulation

Said = collections.namedtuple("Said", "least short most")


def read_truth(lines):
    """period, {(waker, state): Said}"""
    period, said = 0, collections.defaultdict(lambda: Said(0, 0, 0))
    for line in lines:
        if match := re.match(r"period (\d+)", line):
            period = int(match[1])
        elif match := re.match(r"woken \S+ (\S+) (\S+) (\d+) (\d+) (\d+)", line):
            key = match[2], match[1]
            said[key] = Said(*(a + int(b) for a, b in zip(said[key], match.groups()[2:])))
    return period, dict(said)


def read_wakeups(lines):
    """{(waker, state): ns} in its function; the same elsewhere; of nobody in particular; of those who gave back a lock of the kernel's"""
    found, elsewhere, bare, locks = collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
    for line in lines:
        stack, value = line.rsplit(" ", 1)
        frames = stack.split(";")
        waker, state = re.sub(r" \(.*", "", frames[0]), frames[1]
        names = [frame.split("(")[0] for frame in frames[2:]]
        function = FUNCTIONS.get(waker, waker)
        if any(name.partition(".")[0] == KERNEL_LOCK for name in names):
            where = locks
        else:
            where = bare if not names or waker.startswith(DELIVERS) else found if function in names else elsewhere
        where[waker, state] += int(value)
    return found, elsewhere, bare, locks


def faults_of(period, said, wakeups, share):
    """What is wrong, in words."""
    found, elsewhere, bare, locks = wakeups
    if not said:
        return ["the workload said nothing"]
    faults = []
    strays = STRAYS * period
    for (waker, state), (least, short, most) in said.items():
        error = 4 * (short * period) ** 0.5 + strays
        seen = found[waker, state]
        without = min(BARE * least, sum(ns for (_, its), ns in bare.items() if its == state))
        if not (1 - share) * least - error - without <= seen <= (1 + share) * most + error:
            faults.append(f"{waker} woke who waited {least / 1e9:.4f} to {most / 1e9:.4f} s ({state}), found {seen / 1e9:.4f} s")
    for where, what in ((found, ""), (elsewhere, " outside of its function")):
        for (waker, state), ns in where.items():
            slack = strays + share * sum(one.least for (its, _), one in said.items() if its == waker)
            if (what or (waker, state) not in said) and ns > slack:
                faults.append(f"{waker} woke who waited {ns / 1e9:.4f} s ({state}){what}")
    total = sum(one.least for one in said.values())
    if sum(bare.values()) > BARE * total:
        faults.append(f"{sum(bare.values()) / 1e9:.4f} of {total / 1e9:.4f} s without a stack")
    if sum(locks.values()) > LOCKS * total:
        faults.append(f"{sum(locks.values()) / 1e9:.4f} of {total / 1e9:.4f} s by locks of the kernel")
    woken = sum(ns for where in (found, elsewhere) for (waker, _), ns in where.items() if waker == COMPUTES)
    if woken > strays:
        faults.append(f"{COMPUTES} woke who waited {woken / 1e9:.4f} s")
    return faults


def end(faults):
    for fault in faults:
        print("WRONG   " + fault)
    sys.exit(bool(faults))


def main():
    folded, truth, share = sys.argv[1:]
    period, said = read_truth(open(truth))
    wakeups = read_wakeups(open(folded))
    for (waker, state), (least, short, most) in sorted(said.items()):
        print(f"{waker}: {state}, {least / 1e9:.4f} to {most / 1e9:.4f} s, {short / 1e9:.4f} s of it short; found {wakeups[0][waker, state] / 1e9:.4f} s")
    for where, what in zip(wakeups, ("by others", "outside of their functions", "without a stack", "by locks of the kernel")):
        rest = {f"{waker}, {state}": round(ns / 1e9, 4) for (waker, state), ns in sorted(where.items()) if where is not wakeups[0] or (waker, state) not in said}
        print(f"{what}: {sum(rest.values()):.4f} s", rest)
    end(faults_of(period, said, wakeups, float(share)))


if __name__ == "__main__":
    main()

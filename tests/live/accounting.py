# SPDX-License-Identifier: Apache-2.0
"""Prints the accounts that a recording with --stats gives of its samples, an event a line, and fails unless they are right.

usage: accounting.py SUMMARY RECORDING.txt [runs=N] EVENT=HZ…

Of each event: fired = stored + idle + not a target + lost(reason), to the sample; stored is the number of samples that were written. Of those
given as EVENT=HZ, clocks: fired is what the clock says, rate x CPUs x seconds, within 2 % and a sample a CPU. runs: how often the kernel
says that the sampling program ran (kernel.bpf_stats_enabled), of all events: as often as it counted an outcome. What else fired never reached it.
"""
import collections
import re
import sys
import typing


# Outcomes of interrupts that never reached the program.
NEVER_RAN = ("idle, without an interrupt", "lost: stolen", "lost: skipped", "lost: throttled")


class Account(typing.NamedTuple):
    event: str
    fired: int
    seconds: float
    cpus: int
    outcomes: dict


def number(digits):
    return int(digits.replace(",", ""))


def read_accounts(summary):
    accounts = []
    for line in summary.splitlines():
        if match := re.match(r"([0-9,]+) samples? in ([0-9.]+) ([mµn]?s)  \((.+), (?:[^,]+ Hz|every [0-9,]+), ([0-9]+) CPUs?\)$", line):
            seconds = float(match[2]) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[match[3]]
            accounts.append(Account(match[4], number(match[1]), seconds, int(match[5]), {}))
        elif accounts and (match := re.match(r" +([0-9,]+) +[0-9.]+ %  (.*)$", line)):
            accounts[-1].outcomes[match[2]] = number(match[1])
    return accounts


def count_written(lines):
    """{event: samples} of a recording as text"""
    # A thread's name may begin with blanks, or be empty; frames begin with a tab.
    return collections.Counter(match[1] for line in lines if (match := re.match(r"[^\t].* \[[0-9]+\] +[0-9.]+: +[0-9]+ (\S+):", line)))


def runs_of(account):
    """How often the program ran, by its own outcomes."""
    return sum(value for name, value in account.outcomes.items() if not name.startswith(NEVER_RAN))


def faults_of(account, written, rate=None):
    """What is wrong with it, in words."""
    faults = []
    if not account.outcomes:
        faults.append("no outcomes")
    if sum(account.outcomes.values()) != account.fired:
        faults.append(f"{account.fired - sum(account.outcomes.values()):+,} samples are neither stored nor lost")
    if account.outcomes.get("stored", 0) != written:
        faults.append(f"{written:,} samples were written")
    if rate is not None:
        clock = rate * account.cpus * account.seconds
        slack = 0.02 * clock + account.cpus + rate * account.cpus * 0.05  # seconds are printed with one digit
        if abs(account.fired - clock) > slack:
            faults.append(f"the clock says {clock:,.0f}")
    return faults


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        accounts = read_accounts(file.read())
    with open(sys.argv[2], encoding="utf-8", errors="replace") as file:
        written = count_written(file)
    rates = {event: int(rate) for event, rate in (argument.split("=") for argument in sys.argv[3:])}
    runs = rates.pop("runs", None)
    wrong = [f"{event}: no account" for event in {*rates, *written} - {account.event for account in accounts}]
    for account in accounts:
        named = " + ".join(f"{value:,} {name.split(' (')[0]}" for name, value in account.outcomes.items() if value)
        print(f"{account.event}: {account.fired:,} fired = {named}")
        wrong += [f"{account.event}: {fault}" for fault in faults_of(account, written[account.event], rates.get(account.event))]
    counted = sum(runs_of(account) for account in accounts)
    if runs is not None:
        print(f"the program ran {runs:,} times and counted {counted:,} outcomes; {sum(account.fired for account in accounts) - runs:,} of what fired did not reach it")
        if runs != counted:
            wrong.append(f"{runs - counted:+,} runs without an outcome")
    for fault in wrong:
        print("WRONG   " + fault)
    sys.exit(1 if wrong or not accounts else 0)


if __name__ == "__main__":
    main()

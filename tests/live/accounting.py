# SPDX-License-Identifier: Apache-2.0
# accounting.py SUMMARY SAMPLES RATE CPUS: prints the account that a recording with --stats gives of its samples, and fails unless
#   fired is what the clock says (rate x CPUs x seconds, within 2 % and a sample a CPU),
#   fired = stored + idle + not a target + lost(reason), to the sample,
#   stored is the number of samples that were written.
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
rate, cpus = int(sys.argv[3]), int(sys.argv[4])
number = lambda digits: int(digits.replace(",", ""))
fired, seconds = re.search(r"^([0-9,]+) samples in ([0-9.]+) s", text, re.M).groups()
fired = number(fired)
parts = {m[2]: number(m[1]) for m in re.finditer(r"^ +([0-9,]+) +[0-9.]+ %  (.*)$", text, re.M)}
written = sum(1 for line in open(sys.argv[2], encoding="utf-8", errors="replace") if re.match(r"\S.* cpu-clock:", line))
clock = rate * cpus * float(seconds)
named = " + ".join(f"{value:,} {name.split(' (')[0]}" for name, value in parts.items() if value)
print(f"{rate:5} Hz: the clock says {clock:,.0f}; fired {fired:,} = {named}; difference {fired - sum(parts.values())}; written {written:,}")
# Seconds are printed with one digit.
slack = 0.02 * clock + cpus + rate * cpus * 0.05
sys.exit(0 if sum(parts.values()) == fired and parts["stored"] == written and abs(fired - clock) <= slack else 1)

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -c N: a sample every N units, and each is worth N. Of page faults one by one counted by the workload; of the clock by the time
# between two samples of a CPU, by the clock of all CPUs, and by the workload's time on a CPU.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -e page-faults -c 7 -o x.folded -o x.txt -- "$WORKLOADS/faults" 1 >out 2>err || fail "record -c 7 ended with $?"
grep -q '(page-faults, every 7, ' err || fail "the summary does not say every 7"
touched=$(sed -n 's/^touched //p' out)
faults=$(awk '/;touch /{sum += $NF} END {print sum + 0}' x.folded)
# Each seventh of a CPU's faults, others' among them: a binomial's four standard deviations, and one a CPU at its ends.
awk -v n="$touched" -v k="$faults" -v cpus="$(nproc)" 'BEGIN { d = k - n; if (d < 0) d = -d; exit !(n > 1000 && d <= 4 * sqrt(6 * n) + 7 * cpus) }' ||
  fail "$faults page faults in touch(), which touched $touched pages"
[[ $(grep -c ' page-faults:' x.txt) == $(grep -c ' 7 page-faults:' x.txt) ]] || fail "a sample is not worth 7"

cat >used.py <<'PY'
import os, resource, subprocess, sys
def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    # What a hypervisor takes is in no thread's CPU time, but the clock goes on.
    stolen = float(open("/proc/stat").readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    return usage.ru_utime + usage.ru_stime, usage.ru_nvcsw + usage.ru_nivcsw, stolen
before = used()  # by what ran before an exec of this process
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(*(now - then for now, then in zip(used(), before)))
PY
"$CICADA" record -e cpu-clock -c 2000000 --stats -o x.txt -- python3 used.py "$WORKLOADS/split" 1 >out 2>err || fail "record -c ended with $?"
grep -q '(cpu-clock, every 2,000,000, ' err || fail "the summary does not say every 2,000,000"
python3 -B "$LIVE/accounting.py" err x.txt cpu-clock=500 || fail "the account does not add up"
python3 -B - "$LIVE" <<'PY' || fail "-c 2000000 does not sample every 2 ms"
import bisect, collections, re, sys
sys.path.insert(0, sys.argv[1])
import accounting
text = open("err").read()
used, turns, stolen = map(float, open("out").read().split())
times = collections.defaultdict(list)  # of each CPU
for line in open("x.txt"):
    if match := re.match(r"split .*\[([0-9]+)\] +([0-9.]+): 2000000 \S+:$", line):
        times[match[1]].append(float(match[2]))
samples = sum(map(len, times.values()))
gaps = sorted((after - before) / 0.002 for one in times.values() for before, after in zip(one, one[1:]))
even = 0  # beside most others of their CPU: the timer's beat
for one in times.values():
    phases = sorted(time / 0.002 % 1 for time in one)
    phases += [phase + 1 for phase in phases]
    even += max(bisect.bisect(phases, phases[i] + 0.1) - i for i in range(len(one)))
account, = accounting.read_accounts(text)
lost = sum(value for name, value in account.outcomes.items() if name.startswith("lost"))
# A turn on a CPU begins and ends between two samples: less than one more, or less, than its time. And what the program was before its exec.
slack = turns + 5
print(f"{samples} samples in {used:.3f} s, {lost} lost on any CPU; {turns:.0f} turns on a CPU; {stolen:.2f} s stolen; {even} on the beat of 2 ms, the least gaps "
      f"are {[round(2 * gap, 3) for gap in gaps[:3]]} ms")
faults = []
if used <= 0.9:
    faults.append("the program did not run")
if not -lost - slack <= samples - used * 500 <= slack + stolen * 500:
    faults.append(f"{samples} samples of 2 ms in {used:.4f} s, {stolen:.2f} s stolen")
# Others run between two samples, and an interrupt may be late.
if gaps[len(gaps) // 50] >= 1.1 or even <= 0.75 * samples:
    faults.append(f"{even} of {samples} on the beat; gaps, in periods: {[round(gaps[i * (len(gaps) - 1) // 20], 3) for i in range(21)]}")
for fault in faults:
    print("WRONG   " + fault)
sys.exit(bool(faults))
PY

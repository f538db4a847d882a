#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a profiler's process costs a sample, in user space and in the kernel on its behalf: its CPU time of a long recording minus that of a short one,
for each sample that the long one has more. So what it does once (loading programs, names, the result of the stacks there are) is in neither.

usage: user_cost.py SAMPLES-REGEX SHORT LONG COMMAND… ; {} in COMMAND is the seconds. Prints nanoseconds.
"""
import re
import resource
import subprocess
import sys


def measure(seconds):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([word.replace("{}", seconds) for word in sys.argv[4:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    samples = re.search(sys.argv[1], done.stdout, re.M)
    if samples is None:
        sys.exit(f"no samples in: {done.stdout}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(samples[1].replace(",", ""))


(cpu_short, samples_short), (cpu_long, samples_long) = measure(sys.argv[2]), measure(sys.argv[3])
if samples_long <= samples_short:
    sys.exit(f"{samples_short} samples in {sys.argv[2]} s, {samples_long} in {sys.argv[3]} s")
print(f"{1e9 * max(0.0, cpu_long - cpu_short) / (samples_long - samples_short):.0f}")

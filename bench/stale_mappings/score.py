#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: score.py SAMPLES TRUTH [STATS]: samples, those with a function that did not run then ("only" statements), those that name the function that
ran, and, by cicada's own account, stacks cut and stacks finished in user space."""
import bisect
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "live"))
import truth  # noqa: E402

with open(sys.argv[1], encoding="utf-8", errors="replace") as lines:
    samples = list(truth.read_samples(lines, None))
turns = {}
for line in open(sys.argv[2], encoding="utf-8"):
    if line.startswith("only "):
        _, name, *spans = line.split()
        turns[name] = sorted(tuple(map(float, span.split("-"))) for span in spans)


def ran(name, time):
    at = bisect.bisect_right(turns[name], (time, float("inf"))) - 1
    return at >= 0 and time <= turns[name][at][1]


named = sum(any(name in turns for name in sample.user) for sample in samples)
wrong = sum(any(name in turns and not ran(name, sample.time) for name in sample.user) for sample in samples)
row = f"{len(samples):9} {wrong:7} {named - wrong:9}"
if len(sys.argv) > 3:
    stats = open(sys.argv[3], encoding="utf-8").read()
    for text in "other code was mapped there", "finished in user space":
        found = re.search(r"^ +([0-9,]+) .*" + text, stats, re.M)
        row += f" {int(found[1].replace(',', '')) if found else 0:10}"
print(row)

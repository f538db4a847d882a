#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: judge.py SAMPLES TRUTH: of the samples of a reused pid, how many have another program's name or functions.

TRUTH: "PID BEGIN_NS END_NS PROGRAM" a line; SAMPLES: perf script's layout with CLOCK_MONOTONIC times. Before its exec a process still is the
spawner, by name and by code.
"""
import bisect
import re
import sys

HEAD = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[\d+\]\s+)?(\d+)\.(\d{9}):")
CODE = re.compile(r"(?:^| )(?:leaf|middle|work)_(\d)\b")

lives = [tuple(map(int, line.split())) for line in open(sys.argv[2], encoding="utf-8")]
begins = [life[1] for life in lives]
samples = wrong_name = wrong_code = without = 0
current = None


def finish():
    global samples, wrong_name, wrong_code, without
    if current is None:
        return
    program, comm, text, user = current
    samples += 1
    codes = set(CODE.findall(text))
    if comm not in ("reuse_pid", f"storm_child_{program}"):
        wrong_name += 1
    if codes - {str(program)}:
        wrong_code += 1
    elif not codes and user:
        without += 1


text = ""
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    head = HEAD.match(line)
    if head and not line.startswith("\t"):
        finish()
        current = None
        time = int(head[4]) * 1000000000 + int(head[5])
        at = bisect.bisect_right(begins, time) - 1
        if at >= 0 and lives[at][0] == int(head[2]) and time < lives[at][2]:
            current = (lives[at][3], head[1], "", False)
    elif current is not None and line.strip():
        user = current[3] or "[kernel" not in line and ".ko)" not in line
        current = (current[0], current[1], current[2] + line, user)
finish()
print(f"{len(lives):10} {samples:10} {wrong_name:12} {wrong_code:12} {without:14}")

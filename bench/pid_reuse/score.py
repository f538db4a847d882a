#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: score.py SAMPLES TRUTH: of the samples of a reused pid, how many have another program's name or functions.

TRUTH: "PID BEGIN_NS END_NS PROGRAM" a line; SAMPLES: perf script's layout with CLOCK_MONOTONIC times. Before its exec a process still is the
spawner, by name and by code.
"""
import bisect
import re
import sys

HEAD = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[\d+\]\s+)?(\d+)\.(\d{9}):")
CODE = re.compile(r"(?:^| )(?:leaf|middle|work)_(\d)\b")


class Score:
    """Of the samples in a life of the pid: how many there are, how many have another program's name or functions, how many none of its own."""

    def __init__(self, lines, lives):
        """lives: (pid, begin_ns, end_ns, program), by time"""
        self.samples = self.wrong_name = self.wrong_code = self.without = 0
        begins = [life[1] for life in lives]
        program, comm, text, user = None, "", "", False
        for line in lines:
            head = None if line.startswith("\t") else HEAD.match(line)
            if head:
                self.add(program, comm, text, user)
                time = int(head[4]) * 1000000000 + int(head[5])
                at = bisect.bisect_right(begins, time) - 1
                alive = at >= 0 and lives[at][0] == int(head[2]) and time < lives[at][2]
                program, comm, text, user = lives[at][3] if alive else None, head[1], "", False
            elif line.strip():
                text += line
                user = user or "[kernel" not in line and ".ko)" not in line
        self.add(program, comm, text, user)

    def add(self, program, comm, text, user):
        if program is None:
            return
        codes = set(CODE.findall(text))
        self.samples += 1
        self.wrong_name += comm not in ("reuse_pid", f"storm_child_{program}")
        self.wrong_code += bool(codes - {str(program)})
        self.without += not codes and user


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        lives = [tuple(map(int, line.split())) for line in file]
    with open(sys.argv[1], encoding="utf-8", errors="replace") as lines:
        score = Score(lines, lives)
    print(f"{len(lives):10} {score.samples:10} {score.wrong_name:12} {score.wrong_code:12} {score.without:14}")


if __name__ == "__main__":
    main()

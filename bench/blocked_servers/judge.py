#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py RECORDER TEXT PROGRAM: one line, more if it has to say why, about the stacks that `perf script`, or cicada as .txt, has written.

whole   of all stacks of user threads: the outermost user frame is a function that a thread begins with, by name (bench/stack_judge.py). Go programs of
        Debian are stripped: their names are those of its .gopclntab, whoever recorded it
says    the same as the recorder says, by waits and by the time that they lasted
no name the innermost user frame is an address

Of cicada's stacks 99 % are to be whole: else it ends with 1, and a line that says so.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import stack_judge  # noqa: E402

LEAST_WHOLE = 0.99


def percent(part, of):
    return f"{100 * part / of:6.2f} %" if of else "     -  "


def main():
    recorder, path, program = sys.argv[1:]
    samples = [s for s in stack_judge.read_script(path, stack_judge.Namer(recorder, program)) if s.why or s.frames] if os.path.exists(path) else []
    if not samples:
        print(f"  {recorder:8} no stacks")
        sys.exit(recorder == "cicada")
    count, time = len(samples), sum(sample.value for sample in samples)
    whole_time = whole = said = said_time = no_name = 0
    ends = collections.Counter()  # why, and where
    for value, why, named, frames in samples:
        wrong = stack_judge.why_not_whole(frames)
        no_name += not named
        whole, whole_time = whole + (not wrong), whole_time + value * (not wrong)
        said, said_time = said + (not why), said_time + value * (not why)
        if why or wrong:
            name, where = frames[-1][:2] if frames else ("", "")
            ends[f"{why or wrong}: {name} ({where})" if wrong != "goes on below runtime.mcall" else f"{wrong}: {why or 'as if it were whole'}"] += 1
    line = f"  {recorder:8} {count:7} stacks, whole {percent(whole, count)}"
    if recorder != "perf":
        line += f", by time {percent(whole_time, time)}; says {percent(said, count)}, by time {percent(said_time, time)}"
    print(line + (f"; innermost frame without a name {percent(no_name, count)}" if no_name else ""))
    for end, n in ends.most_common(int(os.environ.get("REASONS", "4"))):
        print(f"             {percent(n, count)}  {end}")
    if recorder == "cicada" and whole < LEAST_WHOLE * count:
        print(f"  WRONG: {count - whole} of {count} stacks are not whole; {100 - 100 * LEAST_WHOLE:g} % may be")
        sys.exit(1)


main()

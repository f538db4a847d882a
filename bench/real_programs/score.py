#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""score.py LABEL: the line of a program, from the files that `run` has put into the current directory. The judge is bench/stack_judge.py.

stacks     cicada's user stacks
complete   of these: the outermost frame is a function that a thread begins with
says       of these: cicada says so
in files   complete of the stacks that have frames in files only
generated  share of the other stacks, which have a frame of code that the program generated, and how many of these are complete
others     complete of all of their user stacks; late: perf script took too long

All in %, cut, not rounded. Where cicada is below LEAST, what is to blame is appended to the file `blame`. It ends with 1 if `in files` is below LEAST
(one incomplete stack is none too many), or there are too few stacks. `score.py --head`: the names of the columns.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import stack_judge  # noqa: E402

LEAST = 99.9
ENOUGH = 100
PEERS = ("perf dwarf", "perf fp", "bpftrace", "dw_ustack")


def percent(part, of):
    return f"{10000 * part // of / 100:.2f}" if of else "-"


def row(label, cells):
    return f"{label:38}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (8, 10, 9, 10, 16, 12, 9, 10, 11)))


def of_users(samples):
    return [sample for sample in samples if sample.why or sample.frames]


def is_whole(sample):
    return not stack_judge.why_not_whole(sample.frames)


def of_peer(peer, maps):
    path = peer.replace(" ", "_")
    if os.path.exists(path + ".late"):
        return "late"
    if not os.path.exists(path):
        return "-"
    namer = stack_judge.Namer(peer)
    samples = of_users(stack_judge.read_script(path, namer, maps) if peer.startswith("perf") else stack_judge.read_bpftrace(path, maps, namer))
    return percent(sum(map(is_whole, samples)), len(samples)) if len(samples) >= ENOUGH else "few"


def blame(label, samples, maps):
    ends = collections.Counter()
    for sample in samples:
        wrong = stack_judge.why_not_whole(sample.frames)
        if wrong:
            frame = sample.frames[-1] if sample.frames else stack_judge.Frame("no user frames", "", 0)
            where = ", generated code on it" if any(map(maps.is_generated, sample.frames)) else ""
            ends[f"{frame.name} ({frame.image}): {sample.why or 'says that it is complete'}{where}"] += 1
    with open("blame", "a", encoding="utf-8") as file:
        for end, count in ends.most_common(int(os.environ.get("REASONS", "4"))):
            print(f"  {label:38} {percent(count, len(samples)):>6} %  {end}", file=file)


def main():
    if sys.argv[1] == "--head":
        print(row("complete user stacks, %", ("stacks", "complete", "says", "in files", "generated", *PEERS)))
        return
    label, maps = sys.argv[1], stack_judge.Maps("maps")
    samples = of_users(stack_judge.read_script("cicada.txt", stack_judge.Namer("cicada"))) if os.path.exists("cicada.txt") else []
    generated = [sample for sample in samples if any(map(maps.is_generated, sample.frames))]
    count, whole, whole_generated = len(samples), sum(map(is_whole, samples)), sum(map(is_whole, generated))
    files, whole_files = count - len(generated), whole - whole_generated
    says = sum(not sample.why for sample in samples)
    other = f"{percent(len(generated), count)}: {percent(whole_generated, len(generated))}" if generated else "-"
    print(row(label, (count, percent(whole, count), percent(says, count), percent(whole_files, files), other, *(of_peer(peer, maps) for peer in PEERS))))
    too_few = count < ENOUGH or files - whole_files > max(1, int(files * (100 - LEAST) / 100))
    if too_few or 100 * whole < LEAST * count:
        blame(label, samples, maps)
    sys.exit(too_few)


main()

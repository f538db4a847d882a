#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a recording (.txt) with what the workload said about itself.

usage: truth.py RECORDING.txt SUMMARY TRUTH [COMM] [--pool FILE]     compares
       truth.py --judge-pool FOLDER                                  judges what many recordings found, per class of walk

Statements (TRUTH, one a line; "#…" is a remark). A frame is an exact name, or "~REGEX" for the whole name.
  chain A;B;…;Z [min P]     the samples with Z on the user stack have A;B;…;Z in a row, and if A is main, a whole stack
  through A;B;…;Z [min P]   the samples with Z on the user stack have all of them in this order, with others between; the outermost frame is one
                            that a thread begins with
  inside Z A;B;…;Y [min P]  the same of the samples that have any frame below Z: those whose leaf is Z itself are not asked
  addresses A-B;C-D;…       the samples whose leaf is in the last range have their callers in the others, outermost first, in a row
  depth A N [min P]         A is N times on the stacks it is on
  complete [min P]          the user stacks are whole: in the summary, and by the name of the outermost frame
  only A T1-T2 T3-T4 …      no sample has A on its user stack at another time (CLOCK_MONOTONIC, s), and ENOUGH have it
  order A;B;…;Z             five samples at least have these frames in this order, with others between
  split A P B Q [tolerance T]  leaf functions A and B share their samples P to Q, within 4 standard deviations (+ T points)
  share A P                 A is on P % of the samples at least
  absent A P                A is on P % of the samples at most

The first six are true of every sample. One recording has too few to tell 99.7 % from 99.95 %, so it may miss three in a thousand, and appends
what it found to its pool: "CLASS JUDGED WRONG", a sample being wrong if any statement is. A pool must have 10,000 samples, and of a thousand
at most one may be wrong; "missing TEST" is a test that has not passed, which is red itself: its pool may have fewer. "min P" is another bound, for
this recording alone.
"""
import argparse
import collections
import functools
import math
import os
import re
import sys
import typing

ENOUGH = 100
POOL_ENOUGH = 10_000
POOL_PERCENT = 99.9
RECORDING_PERCENT = 99.7
ROOTS = re.compile(r"_start|_dl_start_user|_{0,2}clone3?|thread_start|start_thread|__start_context|coroutine|runtime\.goexit.*|runtime\.mstart.*|runtime\.mcall|"
                   r"runtime\.rt0_go.*|_rt0_amd64.*|libc_start_main_stage2|(libc\.so\.6|libc\.so|ld-musl-x86_64\.so\.1)\+0x[0-9a-f]+")
LOADER = re.compile(r"ld-linux-x86-64\.so\.2\+0x([0-9a-f]+)")


def loader_start():
    """Where ld.so begins: stripped, it has no name for it. _start and the code after it, to the first function with one."""
    try:
        with open("/lib64/ld-linux-x86-64.so.2", "rb") as file:
            return int.from_bytes(file.read(32)[24:32], "little")
    except OSError:
        return 0


LOADER_START = range(loader_start(), loader_start() + 96)
HEAD = re.compile(r"^(.*?) +-?[0-9]+/-?[0-9]+ +\[[0-9]+\] +([0-9]+\.[0-9]+): ")
FRAME = re.compile(r"^\t *([0-9a-f]+) (.*) \(([^()]*|\[[^]]*\][^()]*)\)$")


class Sample(typing.NamedTuple):
    """Outermost first. `all`: the kernel's frames and groups too; `time` in seconds."""

    user: list
    all: list
    addresses: list
    time: float = 0.0


def is_kernel(image):
    return image.startswith("[") and image not in ("[vdso]", "[unknown]", "[group]", "[jit]") or image.endswith(".ko")


def is_context(name, image):
    """[softirq] and its like: where the kernel's half was, not a frame of anybody."""
    return image == "[unknown]" and name.startswith("[") and name != "[unknown]"


def to_sample(time, frames):
    """frames: (name, image, address), outermost first"""
    groups = [name for name, image, _ in frames if image == "[group]"]
    user = [frame for frame in frames if not is_kernel(frame[1]) and frame[1] != "[group]" and not is_context(*frame[:2])]
    return Sample([name for name, _, _ in user], groups + [name for name, image, _ in frames if image != "[group]"],
                  [address for _, _, address in user], time)


@functools.lru_cache(maxsize=100_000)
def to_frame(line):
    """(name, image, address); the lines of a recording repeat each other"""
    match = FRAME.match(line)
    return match and (match[2], match[3], int(match[1], 16))


def shorten(stack):
    return ";".join(stack if len(stack) <= 16 else stack[:8] + [f"… {len(stack) - 16} more …"] + stack[-8:])


def read_samples(lines, comm=None):
    """[Sample] of the threads named comm, or of all"""
    samples, head, frames = [], None, []
    for line in [*lines, ""]:
        line = line.rstrip("\n")
        if line.startswith("\t"):
            frame = to_frame(line)
            if frame is None or head is None:
                sys.exit(f"unreadable line: {line!r}")
            frames.append(frame)
        elif line:
            head, frames = HEAD.match(line), []
            if head is None:
                sys.exit(f"unreadable line: {line!r}")
        elif head is not None:
            if comm is None or head[1] == comm[:15]:
                samples.append(to_sample(float(head[2]), frames[::-1]))
            head = None
    return samples


def matches(pattern, name):
    return re.fullmatch(pattern[1:], name) is not None if pattern.startswith("~") else pattern == name


def has(stack, pattern):
    return any(matches(pattern, name) for name in stack)


def has_in_a_row(stack, chain):
    return any(all(matches(p, n) for p, n in zip(chain, stack[i : i + len(chain)])) for i in range(len(stack) - len(chain) + 1))


def has_in_order(stack, chain):
    names = iter(stack)
    return all(any(matches(p, n) for n in names) for p in chain)


def is_whole(user):
    loader = LOADER.fullmatch(user[0])
    return ROOTS.fullmatch(user[0]) is not None or loader is not None and int(loader[1], 16) in LOADER_START


def allowed(total, percent):
    """How many of so many may be wrong: one at least, and no share of a sample less."""
    return max(1, math.ceil(total * (100 - percent) / 100 - 1e-9))


class Truth:
    """`judged` and `wrong`: of which samples (by their numbers) anything was asked that is true of all, and of which it did not hold."""

    def __init__(self, samples, summary):
        self.samples, self.summary, self.failures = samples, summary, 0
        self.judged, self.wrong = set(), set()

    def expect(self, holds, statement, found):
        print(("ok      " if holds else "WRONG   ") + f"{statement}: {found}")
        self.failures += not holds

    def of_all(self, statement, having, good, words=()):
        """Of the samples that are `having`, all are `good`; or the P % of "min P"."""
        judged = {i for i, sample in enumerate(self.samples) if having(sample)}
        wrong = {i for i in judged if not good(self.samples[i])}
        percent = float(words[1]) if words else RECORDING_PERCENT
        if not words:
            self.judged |= judged
            self.wrong |= wrong
        self.expect(len(judged) >= ENOUGH and len(wrong) <= allowed(len(judged), percent), statement, f"{len(judged) - len(wrong)} of {len(judged)}")
        for i in sorted(wrong)[:3]:
            print("        e.g. " + shorten(self.samples[i].user))

    def chain(self, statement, words):
        chain = words[0].split(";")
        self.of_all(statement, lambda s: has(s.user, chain[-1]), lambda s: has_in_a_row(s.user, chain) and (chain[0] != "main" or is_whole(s.user)), words[1:])

    def through(self, statement, words):
        chain = words[0].split(";")
        self.of_all(statement, lambda s: has(s.user, chain[-1]), lambda s: has_in_order(s.user, chain) and is_whole(s.user), words[1:])

    def inside(self, statement, words):
        chain = words[1].split(";") + [words[0]]
        self.of_all(statement, lambda s: has(s.user[:-1], words[0]), lambda s: has_in_order(s.user, chain) and is_whole(s.user), words[2:])

    def addresses(self, statement, words):
        ranges = [range(*(int(end, 16) for end in r.split("-"))) for r in words[0].split(";")]
        self.of_all(statement, lambda s: s.addresses and s.addresses[-1] in ranges[-1],
                    lambda s: len(s.addresses) > len(ranges) and all(x in r for x, r in zip(s.addresses[-len(ranges) :], ranges)))

    def depth(self, statement, words):
        self.of_all(statement, lambda s: has(s.user, words[0]), lambda s: sum(matches(words[0], n) for n in s.user) == int(words[1]), words[2:])

    def complete(self, statement, words):
        self.of_all(statement, lambda s: s.user, lambda s: is_whole(s.user), words)
        percent = float(words[1]) if words else RECORDING_PERCENT
        match = re.search(r"([0-9.]+) % of ([0-9,]+) user stacks are complete", self.summary)
        said, of = (float(match[1]), int(match[2].replace(",", ""))) if match else (-1.0, 0)
        self.expect(match is not None and said >= 100 - 100 * allowed(of, percent) / max(of, 1) - 0.01, statement + " (summary)", f"{said} % of {of}")

    def only(self, statement, words):
        turns = [tuple(map(float, turn.split("-"))) for turn in words[1:]]
        having = [s.time for s in self.samples if has(s.user, words[0])]
        wrong = [t for t in having if not any(begin <= t <= end for begin, end in turns)]
        self.expect(len(having) >= ENOUGH and not wrong, f"only {words[0]} in {len(turns)} turns", f"{len(wrong)} of {len(having)} outside")
        for time in wrong[:3]:
            print(f"        e.g. {time:.6f}, {1000 * (time - max([t for turn in turns for t in turn if t <= time], default=time)):.3f} ms after a turn")

    def order(self, statement, words):
        chain = " ".join(words).split(";")
        count = sum(has_in_order(s.all, chain) for s in self.samples)
        self.expect(count >= 5, statement, f"{count} samples")

    def split(self, statement, words):
        a, p, b, q = words[0], float(words[1]), words[2], float(words[3])
        tolerance = float(words[5]) / 100 if len(words) > 5 else 0
        leaves = [s.user[-1] for s in self.samples if s.user]
        n_a, n_b = leaves.count(a), leaves.count(b)
        n, expected = n_a + n_b, p / (p + q)
        deviation = 4 * math.sqrt(expected * (1 - expected) / max(n, 1)) + tolerance
        self.expect(n >= ENOUGH and abs(n_a / max(n, 1) - expected) <= deviation, statement,
                    f"{n_a} to {n_b}, {100 * n_a / max(n, 1):.1f} % (± {100 * deviation:.1f})")

    def share(self, statement, words):
        count, total = sum(has(s.all, words[0]) for s in self.samples), len(self.samples)
        self.expect(total >= ENOUGH and count * 100 >= float(words[1]) * total, statement, f"on {count} of {total}")

    def absent(self, statement, words):
        count, total = sum(has(s.all, words[0]) for s in self.samples), len(self.samples)
        self.expect(total >= ENOUGH and count * 100 <= float(words[1]) * total, statement, f"on {count} of {total}")

    def check(self, statement):
        verb, *words = statement.split()
        if verb not in STATEMENTS:
            sys.exit(f"no such statement: {statement}")
        getattr(self, verb)(statement, words)


STATEMENTS = ("chain", "through", "inside", "addresses", "depth", "complete", "only", "order", "split", "share", "absent")


def judge_pool(lines):
    """Prints a line a class; how many classes fail."""
    pool = collections.Counter()
    wrong = collections.Counter()
    missing = [line.split()[1] for line in lines if line.startswith("missing ")]
    if missing:
        print("missing " + ", ".join(missing) + ": not passed")
    for line in lines:
        if line.startswith("missing "):
            continue
        name, judged, bad = line.split()
        pool[name] += int(judged)
        wrong[name] += int(bad)
    failures = 0
    for name in sorted(pool):
        right = wrong[name] <= allowed(pool[name], POOL_PERCENT)
        enough = pool[name] >= POOL_ENOUGH
        failures += not right or not enough and not missing
        verdict = "WRONG   " if not right or not enough and not missing else "ok      " if enough else "too few "
        print(verdict + f"{name}: {wrong[name]} of {pool[name]} samples contradict their workload, {100 - 100 * wrong[name] / max(pool[name], 1):.3f} % do not")
    return failures if pool or missing else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--pool", metavar="FILE")
    parser.add_argument("--class", dest="walk", default="other")
    parser.add_argument("--judge-pool", metavar="FOLDER")
    options = parser.parse_args()
    if options.judge_pool:
        files = [os.path.join(options.judge_pool, name) for name in sorted(os.listdir(options.judge_pool))]
        sys.exit(judge_pool([line for file in files for line in open(file, encoding="utf-8")]) > 0)
    recording, summary, truth_path, comm = (options.arguments + [None])[:4]
    with open(recording, encoding="utf-8", errors="replace") as lines:
        samples = read_samples(lines, comm)
    with open(summary, encoding="utf-8", errors="replace") as file:
        truth = Truth(samples, file.read())
    with open(truth_path, encoding="utf-8") as file:
        statements = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if not statements:
        sys.exit("the workload said nothing")
    for statement in statements:
        truth.check(statement)
    if options.pool and truth.judged:
        with open(options.pool, "a", encoding="utf-8") as pool:
            print(options.walk, len(truth.judged), len(truth.wrong), file=pool)
    sys.exit(1 if truth.failures else 0)


if __name__ == "__main__":
    main()

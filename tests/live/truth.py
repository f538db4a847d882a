#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a recording (.txt) with what the workload said about itself.

usage: truth.py RECORDING.txt SUMMARY TRUTH [COMM]

Statements (TRUTH, one a line; "#…" is a remark). A frame is an exact name, or "~REGEX" for the whole name.
  chain A;B;…;Z [min P]     of the samples with Z on the user stack, P % (99.9) have A;B;…;Z in a row, and if A is main, a whole stack
  through A;B;…;Z [min P]   of the samples with Z on the user stack, P % (99.9) have all of them in this order, with others between; the outermost
                            frame is one that a thread begins with
  addresses A-B;C-D;…       of the samples whose leaf is in the last range, 99.9 % have their callers in the others, outermost first, in a row
  only A T1-T2 T3-T4 …      no sample has A on its user stack at another time (CLOCK_MONOTONIC, s), and ENOUGH have it
  order A;B;…;Z             five samples at least have these frames in this order, with others between
  split A P B Q [tolerance T]  leaf functions A and B share their samples P to Q, within 4 standard deviations (+ T points)
  share A P                 A is on P % of the samples at least
  depth A N                 A is N times on 99 % of the stacks it is on
  absent A P                A is on P % of the samples at most
  complete [P]              P % (99.9) of the user stacks are whole: in the summary, and by the name of the outermost frame
A percentage is missed where so many wrong samples are too many to be chance: fewer than one in fifty recordings of a cicada that just reaches
it would have more. Of 1,000 samples 3 may differ at 99.9 %, of 100 one.
"""
import math
import re
import sys
import typing

ENOUGH = 100
ROOTS = re.compile(r"_start|_dl_start_user|_{0,2}clone3?|thread_start|start_thread|__start_context|coroutine|runtime\.goexit.*|runtime\.mstart.*|"
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
FRAME = re.compile(r"^\t *([0-9a-f]+) (.*) \(([^()]*|\[[^]]*\][^()]*)\)$")


class Sample(typing.NamedTuple):
    """Outermost first. `all`: the kernel's frames and groups too."""

    user: list
    all: list
    addresses: list
    time: float


def is_kernel(image):
    return image.startswith("[") and image not in ("[vdso]", "[unknown]", "[group]", "[jit]") or image.endswith(".ko")


def is_context(name, image):
    """[softirq] and its like: where the kernel's half was, not a frame of anybody."""
    return image == "[unknown]" and name.startswith("[") and name != "[unknown]"


def read_samples(path, comm):
    """[Sample]"""
    samples, frames, wanted = [], [], False
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("\t"):
                match = FRAME.match(line)
                if not match:
                    sys.exit(f"unreadable line: {line!r}")
                frames.append((match[2], match[3], int(match[1], 16)))
            elif line:
                name = line.rsplit(" ", 5)[0] if " [" not in line else line[: line.index(" [")].rsplit(" ", 1)[0]
                time = float(re.search(r" ([0-9]+\.[0-9]+): ", line)[1])
                wanted, frames = comm is None or name == comm[:15], []
            elif wanted:
                frames.reverse()
                groups = [name for name, image, _ in frames if image == "[group]"]
                user = [frame for frame in frames if not is_kernel(frame[1]) and frame[1] != "[group]" and not is_context(*frame[:2])]
                samples.append(Sample([name for name, _, _ in user], groups + [name for name, image, _ in frames if image != "[group]"],
                                      [address for _, _, address in user], time))
                wanted = False
    return samples


def matches(pattern, name):
    return re.fullmatch(pattern[1:], name) is not None if pattern.startswith("~") else pattern == name


def has_in_a_row(stack, chain):
    return any(all(matches(p, n) for p, n in zip(chain, stack[i : i + len(chain)])) for i in range(len(stack) - len(chain) + 1))


def has_in_order(stack, chain):
    names = iter(stack)
    return all(any(matches(p, n) for n in names) for p in chain)


def is_whole(user):
    loader = LOADER.fullmatch(user[0])
    return ROOTS.fullmatch(user[0]) is not None or loader is not None and int(loader[1], 16) in LOADER_START


def allowed(total, percent):
    """How many of so many samples may differ: the smallest k that a Poisson variable exceeds in less than one case of fifty."""
    mean = total * (100 - percent) / 100
    if mean > 100:
        return math.floor(mean + 2.06 * math.sqrt(mean))
    k, term = 0, math.exp(-mean)
    reached = term
    while reached < 0.98:
        k += 1
        term *= mean / k
        reached += term
    return max(1, k)


class Truth:
    def __init__(self, samples, summary):
        self.samples, self.summary, self.failures = samples, summary, 0

    def expect(self, holds, statement, found):
        print(("ok      " if holds else "WRONG   ") + f"{statement}: {found}")
        self.failures += not holds

    def share(self, statement, good, total, percent):
        self.expect(total >= ENOUGH and total - good <= allowed(total, percent), statement, f"{good} of {total}")

    def chain(self, statement, words):
        chain = words[0].split(";")
        percent = float(words[2]) if len(words) > 2 else 99.9
        having = [s.user for s in self.samples if any(matches(chain[-1], n) for n in s.user)]
        good = [u for u in having if has_in_a_row(u, chain) and (chain[0] != "main" or is_whole(u))]
        self.share(statement, len(good), len(having), percent)
        for wrong in [u for u in having if u not in good][:3]:
            print("        e.g. " + ";".join(wrong))

    def through(self, statement, words):
        chain = words[0].split(";")
        percent = float(words[2]) if len(words) > 2 else 99.9
        having = [s.user for s in self.samples if any(matches(chain[-1], n) for n in s.user)]
        good = [u for u in having if has_in_order(u, chain) and is_whole(u)]
        self.share(statement, len(good), len(having), percent)
        for wrong in [u for u in having if u not in good][:3]:
            print("        e.g. " + ";".join(wrong))

    def addresses(self, statement, words):
        ranges = [tuple(int(end, 16) for end in r.split("-")) for r in words[0].split(";")]
        inside = lambda address, r: r[0] <= address < r[1]
        having = [s.addresses for s in self.samples if s.addresses and inside(s.addresses[-1], ranges[-1])]
        good = [a for a in having if len(a) > len(ranges) and all(inside(x, r) for x, r in zip(a[-len(ranges) :], ranges))]
        self.share(statement, len(good), len(having), 99.9)
        for wrong in [a for a in having if a not in good][:3]:
            print("        e.g. " + ";".join(f"{x:x}" for x in wrong))

    def only(self, statement, words):
        turns = [tuple(map(float, turn.split("-"))) for turn in words[1:]]
        having = [s.time for s in self.samples if any(matches(words[0], n) for n in s.user)]
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

    def on_stack(self, name):
        return sum(any(matches(name, n) for n in s.all) for s in self.samples)

    def complete(self, statement, words):
        percent = float(words[0]) if words else 99.9
        users = [s.user for s in self.samples if s.user]
        self.share(statement, sum(map(is_whole, users)), len(users), percent)
        for root in sorted({u[0] for u in users if not is_whole(u)})[:5]:
            print("        outermost frame: " + root)
        match = re.search(r"([0-9.]+) % of ([0-9,]+) user stacks are complete", self.summary)
        said, of = (float(match[1]), int(match[2].replace(",", ""))) if match else (-1.0, 0)
        self.expect(match is not None and said >= 100 - 100 * allowed(of, percent) / max(of, 1) - 0.01, statement + " (summary)", f"{said} % of {of}")

    def check(self, statement):
        verb, *words = statement.split()
        if verb == "share":
            self.share(statement, self.on_stack(words[0]), len(self.samples), float(words[1]))
        elif verb == "absent":
            count = self.on_stack(words[0])
            self.expect(len(self.samples) >= ENOUGH and count * 100 <= float(words[1]) * len(self.samples), statement, f"on {count} of {len(self.samples)}")
        elif verb == "depth":
            counts = [sum(matches(words[0], n) for n in s.user) for s in self.samples]
            counts = [count for count in counts if count]
            self.share(statement, counts.count(int(words[1])), len(counts), 99)
        elif verb in ("chain", "through", "addresses", "only", "order", "split", "complete"):
            getattr(self, verb)(statement, words)
        else:
            sys.exit(f"no such statement: {statement}")


def main():
    recording, summary, truth_path = sys.argv[1:4]
    samples = read_samples(recording, sys.argv[4] if len(sys.argv) > 4 else None)
    with open(summary, encoding="utf-8", errors="replace") as file:
        truth = Truth(samples, file.read())
    with open(truth_path, encoding="utf-8") as file:
        statements = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if not statements:
        sys.exit("the workload said nothing")
    for statement in statements:
        truth.check(statement)
    sys.exit(1 if truth.failures else 0)


if __name__ == "__main__":
    main()

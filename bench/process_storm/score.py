#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many samples of short-lived processes are whole and named.

usage: score.py cicada|perf|bpftrace FILE COMM_PREFIX CPU_SECONDS HZ [REPORT]

A sample is whole if its outermost user frame is where processes and threads begin; named if every user frame has a function (not
"[unknown]", not "file+0x12"). Samples without any user frame (inside an exec, kernel threads) are not counted, as nobody's are, nor cicada's markers as frames.
COMM_PREFIX "": everybody's, stripped programs too. These have no _start: there a nameless frame counts as one where it has called
__libc_start_main, and what ends without a name in ld.so is not judged, whose ever it is. CPU_SECONDS x HZ is how many samples there should have been. REPORT: the reasons go there.
"""
import collections
import re
import sys

ROOTS = re.compile(r"_start|_dl_start_user|_dl_start|_{0,2}clone3?|thread_start|start_thread|__libc_start_main.*|__libc_start_call_main|ret_from_fork")
LIBC_START = re.compile(r"__libc_start_main.*|__libc_start_call_main|__libc_init_first")
LOADER = re.compile(r"(.*/)?ld(-linux-x86-64|-musl-x86_64)?[-.0-9]*\.so[.0-9]*")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def is_kernel(image):
    return image in ("[kernel.kallsyms]", "[guest.kernel.kallsyms]", "inlined_kernel") or image.endswith(".ko") or (
        image.startswith("[") and image not in ("[vdso]", "[unknown]", "[jit]", "[group]", "[heap]", "[stack]"))


def script_samples(lines, strip_offsets):
    """(comm, [(name, image)] leaf first, why incomplete, how often) of perf script's layout"""
    comm, why, frames = None, "", []
    for line in lines:
        line = line.rstrip("\n")
        match = FRAME.match(line)
        if match and comm is not None:
            frames.append((re.sub(r"\+0x[0-9a-f]+$", "", match[2]) if strip_offsets else match[2], match[3]))
        elif line.strip():
            if comm is not None:
                yield comm, frames, why, 1
            head = re.match(r"^\s*(.*?)\s+-?\d+(?:/-?\d+)?\s+\[\d+\]", line) or re.match(r"^\s*(.*?)\s+-?\d+", line)
            comm = head[1] if head else "?"
            why = line[line.index("(incomplete: ") + 13 : -1] if "(incomplete: " in line else ""
            frames = []
    if comm is not None:
        yield comm, frames, why, 1


def bpftrace_samples(lines):
    """The same of a bpftrace map @[comm, kstack, ustack]."""
    comm, frames = None, []
    for line in lines:
        text = line.strip()
        if line.startswith("@["):
            comm, frames = text[2:].rstrip(",").split(",")[0].strip(), []
        elif comm is not None and re.match(r"^\]: \d+$", text):
            yield comm, frames, "", int(text[3:])
            comm = None
        elif comm is not None and text:
            name = re.sub(r"\+\d+$", "", text)
            if re.fullmatch(r"0x[0-9a-f]+", name) or name.isdigit():
                name = "[unknown]"
            frames.append((name, ""))


def is_nameless(frame):
    return frame[0] == "[unknown]" or re.search(r"(^|\+)0x[0-9a-f]+$", frame[0]) is not None or "[unknown]" in frame[1]


def is_whole(user, everybody):
    """None: not judged."""
    last = user[-1]
    if ROOTS.fullmatch(last[0].split("@@")[0]):
        return True
    if not everybody or not is_nameless(last):
        return False
    if LOADER.fullmatch(last[1]):
        return None
    return len(user) > 1 and LIBC_START.fullmatch(user[-2][0].split("@@")[0]) is not None


class Score:
    """How many samples of `total` are whole, named, and both (good); why others are not."""

    def __init__(self, tool, lines, prefix):
        self.total = self.whole = self.named = self.good = 0
        self.reasons = collections.Counter()
        for comm, frames, why, count in bpftrace_samples(lines) if tool == "bpftrace" else script_samples(lines, strip_offsets=tool == "perf"):
            if not comm.startswith(prefix) or why == "exec in progress":
                continue
            user = [f for f in frames if not is_kernel(f[1]) and not re.match(r"\[(softirq|irq|idle)", f[0])]
            whole = is_whole(user, prefix == "") if user else None
            if whole is not None:
                self.add(user, whole, why, count)

    def add(self, user, is_whole, why, count):
        unnamed = [f for f in user if is_nameless(f)]
        self.total += count
        self.whole += count * is_whole
        self.named += count * (not unnamed)
        self.good += count * (is_whole and not unnamed)
        if not is_whole:
            self.reasons[f"not whole: {why or 'ends at ' + user[-1][0] + ' (' + user[-1][1] + ')'}"] += count
        elif unnamed:
            self.reasons[f"not named: {unnamed[0][0]} ({unnamed[0][1]})"] += count


def main():
    tool, path, prefix, cpu_seconds, hz = sys.argv[1:6]
    with open(path, encoding="utf-8", errors="replace") as lines:
        score = Score(tool, lines, prefix)
    expected = float(cpu_seconds) * float(hz)
    share = lambda n: 100 * n / score.total if score.total else 0
    print(f"{score.total} {share(score.whole):.2f} {share(score.named):.2f} {share(score.good):.2f} {100 * score.total / expected if expected else 0:.1f}")
    if len(sys.argv) > 6:
        with open(sys.argv[6], "w", encoding="utf-8") as out:
            for reason, count in score.reasons.most_common(15):
                print(f"{count:8} {reason}", file=out)


if __name__ == "__main__":
    main()

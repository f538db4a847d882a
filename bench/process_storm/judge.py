#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many samples of short-lived processes are whole and named.

usage: judge.py cicada|perf|bpftrace FILE COMM_PREFIX CPU_SECONDS HZ [REPORT]

A sample is whole if its outermost user frame is where processes and threads begin; named if every user frame has a function (not
"[unknown]", not "file+0x12"). Samples without any user frame (inside an exec, kernel threads) are not counted, as nobody's are, nor cicada's markers as frames.
COMM_PREFIX "": everybody's. CPU_SECONDS x HZ is how many samples there should have been. REPORT: the reasons go there.
"""
import collections
import re
import sys

ROOTS = re.compile(r"_start|_dl_start_user|_dl_start|_{0,2}clone3?|thread_start|start_thread|__libc_start_main.*|__libc_start_call_main|ret_from_fork")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def is_kernel(image):
    return image in ("[kernel.kallsyms]", "[guest.kernel.kallsyms]", "inlined_kernel") or image.endswith(".ko") or (
        image.startswith("[") and image not in ("[vdso]", "[unknown]", "[jit]", "[group]", "[heap]", "[stack]"))


def perf_script(path):
    """(comm, [(name, image, address)] leaf first, why incomplete)"""
    comm, why, frames = None, "", []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line[:1] in ("\t", " ") and FRAME.match(line) and comm is not None:
                m = FRAME.match(line)
                frames.append((re.sub(r"\+0x[0-9a-f]+$", "", m[2]) if STRIP else m[2], m[3], int(m[1], 16)))
            elif line.strip():
                if comm is not None:
                    yield comm, frames, why, 1
                head = re.match(r"^\s*(.*?)\s+-?\d+(?:/-?\d+)?\s+\[\d+\]", line) or re.match(r"^\s*(.*?)\s+-?\d+", line)
                comm = head[1] if head else "?"
                why = line[line.index("(incomplete: ") + 13 : -1] if "(incomplete: " in line else ""
                frames = []
    if comm is not None:
        yield comm, frames, why, 1


def bpftrace(path):
    comm, frames = None, []
    with open(path, encoding="utf-8", errors="replace") as lines:
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
                frames.append((name, "", 0))


def main():
    global STRIP
    tool, path, prefix, cpu_seconds, hz = sys.argv[1:6]
    STRIP = tool == "perf"
    total = whole = named = good = 0
    reasons = collections.Counter()
    for comm, frames, why, count in (bpftrace if tool == "bpftrace" else perf_script)(path):
        if not comm.startswith(prefix):
            continue
        if why == "exec in progress":
            continue
        user = [f for f in frames if not is_kernel(f[1]) and not re.match(r"\[(softirq|irq|idle)", f[0])]
        if not user:
            continue
        total += count
        is_whole = ROOTS.fullmatch(user[-1][0]) is not None
        if tool == "cicada" and prefix == "":
            is_whole = why == ""  # stripped programs have no _start: their own count decides
        unnamed = [f for f in user if f[0] == "[unknown]" or re.search(r"(^|\+)0x[0-9a-f]+$", f[0]) or "[unknown]" in f[1]]
        whole += count * is_whole
        named += count * (not unnamed)
        good += count * (is_whole and not unnamed)
        if not is_whole:
            reasons[f"not whole: {why or 'ends at ' + user[-1][0] + ' (' + user[-1][1] + ')'}"] += count
        elif unnamed:
            reasons[f"not named: {unnamed[0][0]} ({unnamed[0][1]})"] += count
    expected = float(cpu_seconds) * float(hz)
    share = lambda n: 100 * n / total if total else 0
    print(f"{total} {share(whole):.2f} {share(named):.2f} {share(good):.2f} {100 * total / expected if expected else 0:.1f}")
    if len(sys.argv) > 6:
        with open(sys.argv[6], "w", encoding="utf-8") as out:
            for reason, count in reasons.most_common(15):
                print(f"{count:8} {reason}", file=out)


main()

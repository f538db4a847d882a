#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py RECORDER TEXT PROGRAM: one line, more if it has to say why, about the stacks that `perf script`, or cicada as .txt, has written.

whole   of all stacks of user threads: the outermost user frame is a function that a thread begins with, by name. ROOTS of tests/live/truth.py, but no
        address without a name in libc; and the frames that Go's own tracebacks end with. Go programs of Debian are stripped: their
        names are those of its .gopclntab, whoever recorded it
says    the same as the recorder says, by waits and by the time that they lasted
no name the innermost user frame is an address

Of cicada's stacks 99 % are to be whole: else it ends with 1, and a line that says so.
"""
import bisect
import collections
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "live"))
import truth  # noqa: E402

LEAST_WHOLE = 0.99
GO_TOP = re.compile(r"runtime\.(goexit|mstart|mcall|morestack|rt0_go|externalthreadhandler)(\..*)?")
HEAD = re.compile(r"^(.*?) +(\d+)/?(\d+)? +(?:\[\d+\] +)?[0-9.]+:(?: +(\d+) (\S+):)?(?: \(incomplete: (.*)\))? *$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
USER_END = 1 << 47


def go_functions(path):
    """([address], [name]) of a 64-bit Go program that is loaded where it says; of others nothing. Source: debug/gosym/pclntab.go, Go 1.18 and later."""
    with open(path, "rb") as file:
        data = file.read()
    found = re.search(rb"[\xf0\xf1]\xff\xff\xff\0\0[\1\2\4]\x08", data) if b"\0.gopclntab\0" in data else None
    if not found:
        return [], []
    at = found.start()
    count, _, text, names, _, _, _, table = struct.unpack_from("<8Q", data, at + 8)
    addresses, functions = [], []
    for i in range(count):
        entry, function = struct.unpack_from("<II", data, at + table + 8 * i)
        name = at + names + struct.unpack_from("<I", data, at + table + function + 4)[0]
        addresses.append(text + entry)
        functions.append(data[name : data.index(b"\0", name)].decode())
    return addresses, functions


def names_of(path, recorder):
    """A function that names what has no name: address -> name. Of C and C++ programs only the entry point."""
    with open(path, "rb") as file:
        header = file.read(4096)
    start, table, size, count = struct.unpack_from("<24xQQ14xHH", header)
    loads = [struct.unpack_from("<IIQQQQ", header, table + i * size) for i in range(count)]
    addresses, names = go_functions(path)

    def name_of(name, address, is_leaf):
        offset = re.fullmatch(re.escape(os.path.basename(path)) + r"\+0x([0-9a-f]+)", name)
        if offset and int(offset[1], 16) in range(start, start + 64):
            return "_start"
        at = address
        if recorder == "perf":  # writes offsets in the file, and return addresses where cicada has the calls
            at = next((at - begin + link for kind, flags, begin, link, _, length in loads if kind == 1 and flags & 1 and begin <= at < begin + length), at) - (not is_leaf)
        return names[bisect.bisect(addresses, at) - 1] if names and addresses[0] <= at < addresses[-1] else name

    return name_of


def read(path, image="", name_of=None):
    """(value, why it is not whole, whether the innermost frame has a name, [(name, image)] of the user's frames, innermost first) of each wait but those for a CPU"""
    head, frames, state, named = None, [], None, True
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in [*lines, ""]:
            line = line.rstrip("\n")
            if line and not line[0].isspace() and HEAD.match(line):
                head, frames, state, named = HEAD.match(line), [], None, True
            elif line.strip():
                frame = FRAME.match(line)
                if frame and frame[3] == "[group]":
                    state = frame[2]
                elif frame and int(frame[1], 16) < USER_END and not truth.is_kernel(frame[3]):
                    name, where = frame[2], os.path.basename(frame[3].replace(" (deleted)", ""))
                    named = named and (len(frames) > 0 or not has_no_name(name))
                    if where == image and has_no_name(name):
                        name = name_of(name, int(frame[1], 16), not frames)
                    frames.append((name, where))
            elif head:
                if state not in ("preempted", "runnable"):
                    yield int(head[4] or 1), head[6], named, frames
                head = None


def has_no_name(name):
    return name == "[unknown]" or re.search(r"(^|\+)0x[0-9a-f]+$", name) is not None


def why_not_whole(frames):
    """Nothing: it is. What is below runtime.mcall is another goroutine's: that one may run elsewhere by now."""
    if not frames:
        return "no user frames"
    if any(name == "runtime.mcall" for name, _ in frames[:-1]):
        return "goes on below runtime.mcall"
    name = frames[-1][0]
    return None if truth.ROOTS.fullmatch(name) and not has_no_name(name) or GO_TOP.fullmatch(name) else "ends"


def percent(part, of):
    return f"{100 * part / of:6.2f} %" if of else "     -  "


def main():
    recorder, path, program = sys.argv[1:]
    samples = [s for s in read(path, os.path.basename(program), names_of(program, recorder)) if s[1] or s[3]] if os.path.exists(path) else []
    if not samples:
        print(f"  {recorder:8} no stacks")
        sys.exit(recorder == "cicada")
    count, time = len(samples), sum(sample[0] for sample in samples)
    whole_time = whole = said = said_time = no_name = 0
    ends = collections.Counter()  # why, and where
    for value, why, named, frames in samples:
        wrong = why_not_whole(frames)
        no_name += not named
        whole, whole_time = whole + (not wrong), whole_time + value * (not wrong)
        said, said_time = said + (not why), said_time + value * (not why)
        if why or wrong:
            name, where = frames[-1] if frames else ("", "")
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

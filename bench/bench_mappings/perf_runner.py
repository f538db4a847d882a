# SPDX-License-Identifier: Apache-2.0
"""perf_runner.py DATA CMD…: a runner that drives `perf record --control`; prints the windows of benchmarks.
perf_runner.py --judge OURS WINDOWS SCRIPT LIVE: how many benchmarks have their own function's name."""
import json
import os
import re
import select
import struct
import subprocess
import sys
import time

CONTROL, ANSWER = "/tmp/runner.ctl.fifo", "/tmp/runner.ack.fifo"
ACK, WALLTIME = struct.pack("<II", 4, 3), struct.pack("<III", 8, 10, 0)


def serve(data, command):
    for path in (CONTROL, ANSWER, "perf.ctl", "perf.ack"):
        if os.path.exists(path):
            os.unlink(path)
        os.mkfifo(path, 0o600)
    control, answer = os.open(CONTROL, os.O_RDWR | os.O_NONBLOCK), os.open(ANSWER, os.O_RDWR | os.O_NONBLOCK)
    perf_control, perf_answer = os.open("perf.ctl", os.O_RDWR), os.open("perf.ack", os.O_RDWR)
    perf = subprocess.Popen(["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-F", "997", "-D", "-1", "-g", "--control=fifo:perf.ctl,perf.ack", "-o", data, "--", *command],
                            stdout=subprocess.DEVNULL)

    def switch(word):
        os.write(perf_control, word)
        os.read(perf_answer, 16)

    buffer, windows, begin, last = b"", [], 0, 0
    while perf.poll() is None:
        if not select.select([control], [], [], 0.1)[0]:
            continue
        buffer += os.read(control, 65536)
        while len(buffer) >= 4:
            length = struct.unpack_from("<I", buffer)[0]
            if length > 400:  # a client that died in the middle
                buffer = buffer[4:]
                continue
            if len(buffer) < 4 + length:
                break
            body, buffer = buffer[4 : 4 + length], buffer[4 + length :]
            kind = struct.unpack_from("<I", body)[0]
            if kind == 1:
                switch(b"enable\n")
                begin = time.monotonic_ns()
            elif kind == 2:
                switch(b"disable\n")
                windows.append([begin, time.monotonic_ns(), ""])
            elif kind == 0:
                last = body[16:].decode()
                if windows and not windows[-1][2]:
                    windows[-1][2] = last
                else:
                    windows.append([0, 0, last])
            os.write(answer, WALLTIME if kind == 9 else ACK)
    for path in (CONTROL, ANSWER):
        os.unlink(path)
    named = [w for w in windows if w[2]]
    for i, window in enumerate(named):  # a name that came before its window
        if window[0] == 0:
            later = windows[windows.index(window) + 1 :]
            named[i] = [later[0][0], later[0][1], window[2]] if later else window
    print(json.dumps(named))


def judge(ours, windows, script, live):
    sys.path.insert(0, live)
    from bench_pages import read_page

    result = json.load(open(f"{ours}/bench.json"))["benchmarks"]
    good = sum(one["uri"].rsplit("::")[-1] in read_page(f"{ours}/{one['flame_graph']}")[0] for one in result)
    samples = []
    for block in open(script, errors="replace").read().split("\n\n"):
        lines = block.strip().splitlines()
        at = re.search(r"(\d+)\.(\d{6,9}):", lines[0]) if lines else None
        if at:
            samples.append((int(at[1]) * 10**9 + int(at[2].ljust(9, "0")), " ".join(lines[1:])))
    named, theirs, sampled = json.load(open(windows)), 0, 0
    for begin, end, uri in named:
        own = uri.rsplit("::")[-1]
        inside = [stack for time, stack in samples if begin <= time <= end]
        sampled += bool(inside)
        theirs += any(own in stack for stack in inside)
    print("benchmarks whose own function has a name")
    print(f"cicada bench              {good:4} of {len(result)}")
    print(f"perf record --control     {theirs:4} of {len(named)} ({sampled} have samples)")


if sys.argv[1] == "--judge":
    judge(*sys.argv[2:6])
else:
    serve(sys.argv[1], sys.argv[2:])

# SPDX-License-Identifier: Apache-2.0
# measure.py BUILD_DIR: see run.
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
tools = os.environ.get("TOOLS", "cicada perf bpftrace").split()
pairs = int(os.environ.get("PAIRS", "8"))
seconds = float(os.environ.get("SECONDS_EACH", "3"))
long_seconds = float(os.environ.get("LONG", "10"))
work = tempfile.mkdtemp()
commands = {
    "cicada": [f"{build}/cicada", "record", "-a", "-F", "99", "-o", f"{work}/x.folded", "--stats"],
    "perf": ["perf", "record", "-q", "-a", "-g", "-F", "99", "-o", f"{work}/perf.data", "sleep", "1000"],
    "bpftrace": ["bpftrace", "-e", "profile:hz:99 { @[kstack, ustack, comm] = count(); }"],
}
warm_up_seconds = 1  # of the spawners, not counted: tables of what they run are compiled meanwhile
settle_seconds = {"cicada": 1, "perf": 1, "bpftrace": 3}


def spawners(duration):
    command = [f"{build}/tests/bench/spawn_cost/spawner", str(duration), f"{build}/tests/bench/process_storm/storm_child_0", "0"]
    return [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]


def finish(running, duration):  # -> processes a second, us of CPU time each
    results = [p.communicate()[0].split() for p in running]
    count = sum(int(r[0]) for r in results)
    return count / duration, sum(float(r[1]) for r in results) / count * 1e6


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) // 1024


def started(tool):
    with open(f"{work}/{tool}.log", "w") as log:
        process = subprocess.Popen(commands[tool], stdout=log, stderr=log)
    time.sleep(settle_seconds[tool])
    return process


def stopped(process):
    process.send_signal(signal.SIGINT)
    process.wait()


def with_tool(tool):  # -> processes a second, us each, us of the tool's own for each
    process = started(tool)
    running = spawners(seconds)
    time.sleep(warm_up_seconds)
    before = cpu_of(process.pid)
    rate, each = finish(running, seconds)
    own = (cpu_of(process.pid) - before) / (rate * seconds) * 1e6
    stopped(process)
    return rate, each, own


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:5.1f} % ({low:.1f} to {high:.1f})"


print(f"{'three spawners':<28} {'alone':>8} {'with':>8}  {'slowdown (quartiles)':<26} {'us of CPU each':>16} {'own CPU':>9}")
for tool in [t for t in tools if t == "cicada" or shutil.which(commands[t][0])]:
    alone, recorded = [], []
    for turn in range(pairs):
        if turn % 2 == 0:
            alone.append(finish(spawners(seconds), seconds))
        recorded.append(with_tool(tool))
        if turn % 2 == 1:
            alone.append(finish(spawners(seconds), seconds))
    median = lambda rows, column: statistics.median(row[column] for row in rows)
    own = median(recorded, 2) * median(recorded, 0) / 1e4
    print(f"{tool + ', -a, 99 Hz':<28} {median(alone, 0):6.0f}/s {median(recorded, 0):6.0f}/s "
          f" {spread([100 * (a[0] - r[0]) / a[0] for a, r in zip(alone, recorded)]):<26} "
          f"{median(alone, 1):7.0f} -> {median(recorded, 1):.0f} {own:6.1f} %", flush=True)

# Where the machine's time goes, sampled by bpftrace: what is ours and the kernel's for us. Other people's load does not move it.
profiled = "profile:hz:1999 { @[pid == %d, comm, kstack] = count(); } interval:s:10 { exit(); }"
ours = re.compile(r"perf_event_(mmap|comm|task|exec)|bpf_trace_run|irq_work|bpf_prog_\w+_on_")


def shares(text):
    total = own = for_us = 0
    for is_ours, comm, stack, count in re.findall(r"@\[(\d), ([^,\n]*), ?(.*?)\]: (\d+)", text, re.S):
        if comm.startswith("swapper"):
            continue
        total += int(count)
        if is_ours == "1":
            own += int(count)
        elif ours.search(stack):
            for_us += int(count)
    return 100 * own / total, 100 * for_us / total


if "cicada" in tools and shutil.which("bpftrace"):
    for label in "without", "with cicada":
        process = started("cicada") if label != "without" else None
        running = spawners(12)
        time.sleep(warm_up_seconds)
        text = subprocess.run(["bpftrace", "-e", profiled % (process.pid if process else -1)], capture_output=True, text=True).stdout
        finish(running, 12)
        print("%-12s of the busy machine: %.2f %% cicada, %.2f %% events and lifecycle programs in others" % (label, *shares(text)), flush=True)
        if process:
            stopped(process)

if long_seconds:
    process = started("cicada")
    running = spawners(long_seconds)
    time.sleep(2)
    early = resident_mb(process.pid)
    rate, _ = finish(running, long_seconds)
    late = resident_mb(process.pid)
    stopped(process)
    print(f"cicada, {long_seconds:.0f} s, {rate:.0f}/s: resident {early} MB after 2 s, {late} MB at the end")
    with open(f"{work}/cicada.log") as log:
        for line in log:
            if not re.search(r" 0 +0\.00 %|^ +0 +(stacks|records|lifecycle|processes)", line) and re.search(
                    r"lost|could not be|not tracked|orphan|% of .* stacks|visible", line):
                print(line.rstrip())
shutil.rmtree(work)

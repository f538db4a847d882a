# SPDX-License-Identifier: Apache-2.0
# measure.py BUILD_DIR: see run.
import mmap
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

build = sys.argv[1]
tools = os.environ.get("TOOLS", "cicada perf bpftrace").split()
rounds = int(os.environ.get("ROUNDS", "12"))
seconds = float(os.environ.get("SECONDS_EACH", "2"))
long_seconds = float(os.environ.get("LONG", "10"))
work = tempfile.mkdtemp()
commands = {
    "cicada": [f"{build}/cicada", "record", "-a", "-F", "99", "-o", f"{work}/x.folded", "--stats"],
    "perf": ["perf", "record", "-q", "-a", "-g", "-F", "99", "-o", f"{work}/perf.data", "sleep", "1000"],
    "bpftrace": ["bpftrace", "-e", "profile:hz:99 { @[kstack, ustack, comm] = count(); }"],
}
settle_seconds = {"cicada": 2, "perf": 2, "bpftrace": 3}  # not counted: tables of what runs are compiled meanwhile
spawners = 3


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1]) // 1024


class Load:  # the spawners, from begin to end
    def __enter__(self):
        path = f"{work}/counters"
        with open(path, "wb") as f:
            f.truncate(4096)
        self.file = open(path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 4096)
        program = f"{build}/tests/bench/process_storm/storm_child_0"
        self.running = [subprocess.Popen([f"{build}/tests/bench/spawn_cost/spawner", path, str(i), program, "0"]) for i in range(spawners)]
        time.sleep(1)
        return self

    def __exit__(self, *ignored):
        for process in self.running:
            process.kill()
            process.wait()

    def counts(self):  # -> processes, seconds of their CPU time
        each = [struct.unpack_from("qq", self.memory, 64 * i) for i in range(spawners)]
        return sum(e[0] for e in each), sum(e[1] for e in each) / 1e9

    def measure(self, duration):  # -> processes a second, us of CPU time each
        begin, before = time.monotonic(), self.counts()
        time.sleep(duration)
        now, after = time.monotonic(), self.counts()
        count = after[0] - before[0]
        return count / (now - begin), (after[1] - before[1]) / max(count, 1) * 1e6


def started(tool):
    with open(f"{work}/{tool}.log", "w") as log:
        process = subprocess.Popen(commands[tool], stdout=log, stderr=log)
    time.sleep(settle_seconds[tool])
    return process


def stopped(process):
    process.send_signal(signal.SIGINT)
    process.wait()


# One window with the tool between two without: machines drift by more than is measured here.
def one_round(load, tool):  # -> % slower, us each without and with, own CPU in % of a core, processes a second without and with
    before = load.measure(seconds)
    process = started(tool)
    own = cpu_of(process.pid)
    during = load.measure(seconds)
    own = (cpu_of(process.pid) - own) / seconds * 100
    stopped(process)
    time.sleep(0.1)
    after = load.measure(seconds)
    alone = (before[0] + after[0]) / 2
    return 100 * (1 - during[0] / alone), (before[1] + after[1]) / 2, during[1], own, alone, during[0]


tools = [t for t in tools if t == "cicada" or shutil.which(commands[t][0])]
results = {tool: [] for tool in tools}
with Load() as load:
    for turn in range(rounds):
        for tool in tools if turn % 2 == 0 else reversed(tools):
            results[tool].append(one_round(load, tool))
print(f"{'three spawners':<22} {'alone':>8} {'with':>8}  {'slowdown (quartiles), mean of the middle':<46} {'us of CPU each':>16} {'own CPU':>9}")
for tool in tools:
    rows = results[tool]
    median = lambda column: statistics.median(row[column] for row in rows)
    slower = sorted(row[0] for row in rows)
    low, middle, high = statistics.quantiles(slower, n=4)
    most = slower[len(slower) // 5:len(slower) - len(slower) // 5]
    spread = f"{middle:5.1f} % ({low:.1f} to {high:.1f}), {statistics.mean(most):.1f} %"
    print(f"{tool + ', -a, 99 Hz':<22} {median(4):6.0f}/s {median(5):6.0f}/s  {spread:<46} {median(1):7.0f} -> {median(2):.0f} {median(3):6.1f} %", flush=True)

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
        with Load():
            text = subprocess.run(["bpftrace", "-e", profiled % (process.pid if process else -1)], capture_output=True, text=True).stdout
        print("%-12s of the busy machine: %.2f %% cicada, %.2f %% events and lifecycle programs in others" % (label, *shares(text)), flush=True)
        if process:
            stopped(process)

if long_seconds:
    process = started("cicada")
    with Load() as load:
        time.sleep(2)
        early = resident_mb(process.pid)
        rate, _ = load.measure(long_seconds)
        late = resident_mb(process.pid)
    stopped(process)
    print(f"cicada, {long_seconds:.0f} s, {rate:.0f}/s: resident {early} MB after 2 s, {late} MB at the end")
    with open(f"{work}/cicada.log") as log:
        for line in log:
            if not re.search(r" 0 +0\.00 %|^ +0 +(stacks|records|lifecycle|processes)", line) and re.search(
                    r"lost|could not be|not tracked|orphan|% of .* stacks|visible", line):
                print(line.rstrip())
shutil.rmtree(work)

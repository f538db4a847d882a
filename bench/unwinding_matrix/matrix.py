#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Complete and correct stacks of programs that say what their stacks are (tests/workloads), by four profilers, one after the other on
the same running process, each at the same rate, for the same time, as often (RECORDINGS).

complete   of all samples with a user stack: the outermost frame is one that a thread begins with (ROOTS of tests/live/truth.py), by name
correct    of the samples on which a statement of the workload says something: what it says is so (and the stack complete, where it says "main")
           A sample with the callee on it and without its callers is wrong.
from exec  cicada once more, from the command's first instruction to its end: nothing is known beforehand
perf dwarf with copies of the stack of 8,192 bytes (perf's own choice) and of 65,528 (the most there is)
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
import truth  # noqa: E402

SECONDS, HZ, SCRIPT_LIMIT = 2, 199, 90
RECORDINGS = int(os.environ.get("RECORDINGS", "3"))
USER_END = 1 << 47

NATIVE = [  # label, program and arguments
    ("-O2, PIE", "chain_gcc_O2_pie"),
    ("clang -O3, static-PIE", "chain_clang_O3_staticpie"),
    ("shared library", "shared_library"),
    ("realigned stack (AVX, alloca)", "realigned"),
    ("hand-written assembly", "hand_written"),
    ("noreturn callee at the end", "noreturn"),
    ("tail calls", "tail_calls"),
    ("signal handler", "signal_handler"),
    ("signal on alternate stack in signal", "nested_signals"),
    ("vfork child", "vfork"),
    ("_dl_runtime_resolve", "lazy_binding"),
    ("C++ exceptions in flight", "exceptions"),
    ("coroutines (ucontext)", "coroutines"),
    ("1,000-deep recursion", "recursion 1000"),
    ("1 MiB frame", "big_frame"),
    ("in the vDSO", "vdso"),
    ("in the kernel", "in_kernel"),
]
FOREIGN = [
    ("OpenSSL's assembly", "openssl"),
    ("Go", "go"),
    ("Node: JS, C++, JS", "node"),
    ("Java, JNI, Java, JNI", "java"),
    ("musl", "musl"),
    ("musl, static", "musl_static"),
    ("32-bit, frame pointers", "bits32"),
]


def parse_frames(lines):
    """Frames as perf script and bpftrace's ustack(perf) write them, outermost first."""
    frames = []
    for line in lines:
        match = re.match(r"^\s*([0-9a-f]+) (.*?)(\+0x[0-9a-f]+|\+\d+)?(?: \((.*)\))?$", line)
        if not match:
            continue
        address, name, image = int(match[1], 16), match[2], os.path.basename((match[4] or "[kernel]").replace(" (deleted)", ""))
        frames.append((address, f"{image}+0x{address:x}" if name == "[unknown]" else name))
    frames.reverse()
    user = [frame for frame in frames if frame[0] < USER_END]
    frames.sort(key=lambda frame: frame[0] >= USER_END)  # the kernel's are above the user's
    return truth.Sample([n for _, n in user], [n for _, n in frames], [a for a, _ in user])


def read_perf_script(text):
    samples = []
    for block in text.split("\n\n"):
        sample = parse_frames(block.split("\n")[1:])
        if sample.user:
            samples.append(sample)
    return samples


def read_bpftrace(text):
    samples = []
    for stack, count in re.findall(r"^@\[\n?(.*?)\n\]: (\d+)$", text, re.M | re.S):
        sample = parse_frames(stack.split("\n"))
        if sample.user:
            samples += [sample] * int(count)
    return samples


def matches(pattern, name):
    """As truth.matches, but perf leaves parameter lists out."""
    return truth.matches(pattern, name) if pattern.startswith("~") else pattern.split("(")[0] == name.split("(")[0].split("@@")[0]


def has_in_a_row(names, chain):
    return any(all(matches(p, n) for p, n in zip(chain, names[i : i + len(chain)])) for i in range(len(names) - len(chain) + 1))


def has_in_order(names, chain):
    rest = iter(names)
    return all(any(matches(p, n) for n in rest) for p in chain)


class Statements:
    """What decides whether a stack is correct."""

    def __init__(self, lines):
        self.checks = []
        for verb, *words in (line.split() for line in lines if line.strip()):
            if verb in ("chain", "through"):
                self.checks.append(self.sequence(words[0].split(";"), verb == "chain"))
            elif verb == "depth":
                self.checks.append(self.depth(words[0], int(words[1])))
            elif verb == "addresses":
                self.checks.append(self.addresses(words[0]))
            elif verb == "order" and len(words) == 1:
                self.checks.append(self.sequence(words[0].split(";"), False))

    @staticmethod
    def sequence(chain, in_a_row):
        def judge(sample):
            names = sample.user if any(matches(chain[-1], n) for n in sample.user) else sample.all
            if not any(matches(chain[-1], n) for n in names):
                return None
            found = has_in_a_row(names, chain) if in_a_row else has_in_order(names, chain)
            return found and (chain[0] not in ("main", "_start") or truth.is_whole(sample.user))

        return judge

    @staticmethod
    def depth(name, wanted):
        def judge(sample):
            count = sum(matches(name, n) for n in sample.user)
            return None if count == 0 else count == wanted

        return judge

    @staticmethod
    def addresses(text):
        ranges = [tuple(int(end, 16) for end in r.split("-")) for r in text.split(";")]

        def judge(sample):
            if sample.user and sample.user[-1] == "leaf":  # perf gives other addresses for 32-bit programs, but names
                return has_in_a_row(sample.user, ["first", "second", "third", "leaf"])
            a = sample.addresses
            if not a or not ranges[-1][0] <= a[-1] < ranges[-1][1]:
                return None
            return len(a) > len(ranges) and all(low <= x < high for x, (low, high) in zip(a[-len(ranges) :], ranges))

        return judge

    def correct(self, samples):
        judged = right = 0
        for sample in samples:
            verdicts = [v for v in (check(sample) for check in self.checks) if v is not None]
            judged += bool(verdicts)
            right += bool(verdicts) and all(verdicts)
            if os.environ.get("SHOW_WRONG") and verdicts and not all(verdicts):
                print("  wrong: " + ";".join(sample.user))
        return right, judged


def quiet(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", **more)


class Matrix:
    def __init__(self, build, directory):
        self.build, self.directory = build, directory
        self.cicada = os.path.join(build, "cicada")

    def path(self, name):
        return os.path.join(self.directory, name)

    def by_cicada(self, options, command=()):
        text = self.path("cicada.txt")
        quiet([self.cicada, "record", "-q", "-F", str(HZ), "-o", text, *options, *command])
        with open(text, encoding="utf-8", errors="replace") as lines:
            return [s for s in truth.read_samples(lines) if s.user]

    def by_all(self, record, *arguments):
        """What RECORDINGS recordings have together. None: one took too long."""
        samples = []
        for _ in range(RECORDINGS):
            recorded = record(*arguments)
            if recorded is None:
                return None
            samples += recorded
        return samples

    # `comm`: of processes that the workload starts; they are known by name only.
    def by_perf(self, pid, graph, comm):
        data = self.path("perf.data")
        whom, whose = (["-a"], ["--comms", comm]) if comm else (["-p", str(pid)], [])
        quiet(["perf", "record", "-q", "-F", str(HZ), "--call-graph", graph, *whom, "-o", data, "--", "sleep", str(SECONDS)])
        try:
            script = quiet(["perf", "script", "--no-inline", *whose, "-i", data, "-F", "comm,tid,time,ip,sym,dso"], timeout=SCRIPT_LIMIT)
        except subprocess.TimeoutExpired:
            return None
        return read_perf_script(script.stdout)

    def by_bpftrace(self, pid, comm):
        whose = f'comm == "{comm}"' if comm else f"pid == {pid}"
        program = f'profile:hz:{HZ} /{whose}/ {{ @[kstack(perf, 127), ustack(perf, 127)] = count(); }} interval:s:{SECONDS} {{ exit(); }}'
        return read_bpftrace(quiet(["bpftrace", "-e", program]).stdout)

    def row(self, label, command, cold):
        comm = "vfork" if os.path.basename(command[0]) == "vfork" else None
        said = open(self.path("said"), "w+")
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)
        try:
            lines = []
            for _ in range(200):
                time.sleep(0.1)
                lines = open(said.name).read().splitlines()
                if any(re.match(r"complete|share|addresses|absent", line) for line in lines):
                    break
            time.sleep(0.5)
            statements = Statements(lines)
            results = [
                self.by_all(self.by_cicada, ["-p", str(process.pid), "-d", str(SECONDS)]),
                self.by_all(self.by_perf, process.pid, "dwarf,8192", comm),
                self.by_all(self.by_perf, process.pid, "dwarf,65528", comm),
                self.by_all(self.by_perf, process.pid, "fp", comm),
                self.by_all(self.by_bpftrace, process.pid, comm),
            ]
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            said.close()
            if os.path.exists(f"/tmp/perf-{process.pid}.map"):
                os.unlink(f"/tmp/perf-{process.pid}.map")
        if cold:
            results.append(self.by_all(self.by_cicada, [], ["--", *cold]))
        by_name = not any(line.startswith("addresses") for line in lines)
        cells = [self.cell(samples, statements, by_name) for samples in results]
        cells += ["-"] * (6 - len(cells))
        print(f"{label:36}" + "".join(f"{cell:>23}" for cell in cells), flush=True)

    @staticmethod
    def cell(samples, statements, by_name):
        if samples is None:
            return f"over {SCRIPT_LIMIT} s"
        right, judged = statements.correct(samples)
        if not samples or not judged:
            return f"no frame of it ({len(samples)})"
        complete = f"{100 * sum(truth.is_whole(s.user) for s in samples) / len(samples):.2f}" if by_name else "?"
        return f"{complete} {100 * right / judged:7.2f} {judged:5}"


def main():
    build = os.path.abspath(sys.argv[1])
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    with tempfile.TemporaryDirectory() as directory:
        matrix = Matrix(build, directory)
        print(f"% complete, % correct, samples judged. Each {RECORDINGS} times {SECONDS} s at {HZ} Hz")
        print(f"{'':36}" + "".join(f"{name:>23}" for name in ("cicada", "perf dwarf,8192", "perf dwarf,65528", "perf fp", "bpftrace", "cicada from exec")), flush=True)
        workloads = os.path.join(build, "tests", "workloads")
        for label, words in NATIVE:
            program, *arguments = words.split()
            program = os.path.join(workloads, program)
            if not wanted.search(label):
                continue
            matrix.row(label, [program, "300", *arguments], [program, str(SECONDS), *arguments])
        for label, name in FOREIGN:
            if not wanted.search(label):
                continue
            built = subprocess.run([os.path.join(ROOT, "tests/workloads/foreign/build.sh"), name, os.path.join(workloads, "foreign")],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if built.returncode != 0:
                print(f"{label:36} {built.stdout.strip()}")
                continue
            command = shlex.split(built.stdout)
            cold = [*command, str(SECONDS)] if len(command) == 1 else None
            matrix.row(label, [*command, "300"], cold)


main()

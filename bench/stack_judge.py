# SPDX-License-Identifier: Apache-2.0
"""What the benches share that count whole stacks: it reads what `perf script`, cicada (.txt) and bpftrace (ustack(perf)) have written, and judges a stack.

A stack is whole if its outermost user frame is, by name, a function that a thread begins with: ROOTS of tests/live/truth.py, but no address without a
name in libc; and the frames that Go's own tracebacks end with. Debian's programs are stripped. So a Namer finds by address, whoever recorded the stack, the
entry point of a program and of ld.so, and the functions of a Go program (.gopclntab).
"""
import bisect
import mmap
import os
import re
import struct
import sys
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import truth  # noqa: E402

GO_TOP = re.compile(r"runtime\.(goexit|mstart|mcall|morestack|rt0_go|externalthreadhandler)(\..*)?")
HEAD = re.compile(r"^(.*?) +(\d+)/?(\d+)? +(?:\[\d+\] +)?[0-9.]+:(?: +(\d+) (\S+):)?(?: \(incomplete: (.*)\))? *$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
BPFTRACE_STACK = re.compile(r"^@\[(\d+),\s*\n(.*?)\n\]: (\d+)$", re.M | re.S)
USER_END = 1 << 47


class Frame(typing.NamedTuple):
    name: str
    image: str  # its file, without the folders
    address: int  # as the recorder writes it


class Sample(typing.NamedTuple):
    """`value`: of a wait, ns. `why`: why the recorder says that it is not whole. `named`: whether the innermost frame has a name. `frames`: the user's, innermost first."""

    value: int
    why: typing.Optional[str]
    named: bool
    frames: list


def go_functions(data):
    """([address], [name]) of a 64-bit Go program; of others nothing. A position-independent one that gcc has linked has no section .gopclntab.
    Source: debug/gosym/pclntab.go, Go 1.18 and later."""
    found = re.search(rb"[\xf0\xf1]\xff\xff\xff\0\0[\1\2\4]\x08", data) if data.find(b"\xff Go buildinf:") >= 0 else None
    if not found:
        return [], []
    at = found.start()
    count, _, text, names, _, _, _, table = struct.unpack_from("<8Q", data, at + 8)
    addresses, functions = [], []
    for i in range(count):
        entry, function = struct.unpack_from("<II", data, at + table + 8 * i)
        name = at + names + struct.unpack_from("<I", data, at + table + function + 4)[0]
        addresses.append(text + entry)
        functions.append(data[name : data.find(b"\0", name)].decode())
    return addresses, functions


class Program:
    """What names the code of an ELF program without symbols. `start`: the entry point and the little code behind it."""

    def __init__(self, path):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] != b"\x7fELF":
                raise ValueError(path)
            entry, table, size, count = struct.unpack_from("<24xQQ14xHH", data)
            self.loads = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
            self.addresses, self.names = go_functions(data)
        self.start = range(entry, entry + (len(truth.LOADER_START) if is_loader(path) else 64))

    def to_link(self, offset):
        return next((offset - begin + link for kind, flags, begin, link, _, length in self.loads if kind == 1 and flags & 1 and begin <= offset < begin + length), offset)


def is_loader(path):
    return os.path.basename(path).startswith("ld-linux-")


class Namer:
    """Gives frames the names that their file does not have. cicada writes link addresses of calls; perf, and read_bpftrace(), offsets in the file, of returns."""

    def __init__(self, recorder, only=None):
        """only: a program beside which no other is looked at"""
        self.recorder, self.only, self.programs = recorder, only, {}

    def program(self, path):
        if self.only is not None:
            path = self.only if os.path.basename(path) == os.path.basename(self.only) else ""
        if path not in self.programs:
            try:  # the entry points of libraries are no thread's
                self.programs[path] = Program(path) if path.startswith("/") and (self.only or ".so" not in os.path.basename(path) or is_loader(path)) else None
            except (OSError, ValueError, struct.error):
                self.programs[path] = None
        return self.programs[path]

    def name(self, name, path, address, is_leaf):
        program = self.program(path)
        if program is None:
            return name
        if self.recorder != "cicada":
            address = program.to_link(address) - (not is_leaf)
        if address in program.start:
            return "_start"
        if has_no_name(name) and program.addresses and program.addresses[0] <= address < program.addresses[-1]:
            return program.names[bisect.bisect(program.addresses, address) - 1]
        return name


def are_in_process(lines, maps):
    """Whether perf wrote addresses in processes: those of libraries are high. A static program has no libraries: most of its frames lie where its file is mapped."""
    pid, inside = 0, []
    for line in lines:
        head, frame = line[:1] > " " and HEAD.match(line), FRAME.match(line)
        if head:
            pid = int(head[2])
        elif frame and ".so" in frame[3]:
            return int(frame[1], 16) >= 1 << 40
        elif frame and frame[3].startswith("/"):
            inside.append((maps.find(pid, int(frame[1], 16)) or ("",))[0] == frame[3])
    return 2 * sum(inside) > len(inside)


def read_script(path, namer, maps=None):
    """The samples that perf script or cicada wrote; of waits not those for a CPU. `maps`: for perf 7, which writes addresses in the process."""
    head, frames, state, named = None, [], None, True
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [*file, ""]
        in_process = maps is not None and are_in_process(lines, maps)
        for line in lines:
            line = line.rstrip("\n")
            if line and not line[0].isspace() and HEAD.match(line):
                head, frames, state, named = HEAD.match(line), [], None, True
            elif line.strip():
                frame = FRAME.match(line)
                if frame and frame[3] == "[group]":
                    state = frame[2]
                elif frame and int(frame[1], 16) < USER_END and not truth.is_kernel(frame[3]):
                    name, address, where = frame[2], int(frame[1], 16), frame[3].replace(" (deleted)", "")
                    named = named and (len(frames) > 0 or not has_no_name(name))
                    if in_process and head:
                        where, address = maps.find(int(head[2]), address) or (where, address)
                    frames.append(Frame(namer.name(name, where, address, not frames), os.path.basename(where), address))
            elif head:
                if state not in ("preempted", "runnable"):
                    yield Sample(int(head[4] or 1), head[6], named, frames)
                head = None


def read_bpftrace(path, maps, namer):
    """The samples of a map @[pid, ustack(perf)] = count(). bpftrace writes addresses in the process: `maps` knows their files."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    for pid, stack, count in BPFTRACE_STACK.findall(text):
        frames = []
        for line in stack.split("\n"):
            match = re.match(r"^\s*([0-9a-f]+) (.*?)(?:\+\d+)?(?: \((.*)\))?$", line)
            if match:
                where, address = maps.find(int(pid), int(match[1], 16)) or (match[3] or "[unknown]", int(match[1], 16))
                frames.append(Frame(namer.name(match[2], where, address, not frames), os.path.basename(where), address))
        yield from [Sample(1, None, not frames or not has_no_name(frames[0].name), frames)] * int(count)


class Maps:
    """The mappings of processes: lines of /proc/PID/maps, those of a process after a line "process PID", as often as somebody looked."""

    def __init__(self, path):
        self.files = {}  # by process
        self.generated = set()  # what may be run and is of no file
        pid = None
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                fields = line.split(maxsplit=5)
                if fields[0] == "process":
                    pid = int(fields[1])
                    continue
                begin, end = (int(address, 16) for address in fields[0].split("-"))
                where = fields[5].strip() if len(fields) > 5 else ""
                if where.startswith("/") and not where.startswith(("/memfd:", "/dev/zero", "/SYSV")):
                    self.files.setdefault(pid, set()).add((begin, end, int(fields[2], 16), where.replace(" (deleted)", "")))
                elif "x" in fields[1] and where not in ("[vdso]", "[vsyscall]", "[uprobes]"):
                    self.generated.add((begin, end))

    def find(self, pid, address):
        """(file, offset in it)"""
        return next(((where, address - begin + offset) for begin, end, offset, where in self.files.get(pid, ()) if begin <= address < end), None)

    def is_generated(self, frame):
        """Code that a program wrote itself. A frame that is nowhere is none: a wrong step leads there, too."""
        if re.fullmatch(r"\[jit\]|anon|\[anon.*|perf-\d+\.map|jitted-.*|memfd:.*|zero", frame.image):
            return True
        return frame.image == "[unknown]" and any(begin <= frame.address < end for begin, end in self.generated)


def has_no_name(name):
    return name == "[unknown]" or re.search(r"(^|\+)0x[0-9a-f]+$", name) is not None


def why_not_whole(frames):
    """Nothing: it is. What is below runtime.mcall is another goroutine's: that one may run elsewhere by now."""
    if not frames:
        return "no user frames"
    if any(frame.name == "runtime.mcall" for frame in frames[:-1]):
        return "goes on below runtime.mcall"
    name = frames[-1].name.removeprefix("__GI_")
    return None if truth.ROOTS.fullmatch(name) and not has_no_name(name) or GO_TOP.fullmatch(name) else "ends"

# SPDX-License-Identifier: Apache-2.0
"""What a test may leave behind on the machine: processes, FUSE connections, settings, BPF programs. Each is noted before and undone afterwards.

Nothing here reads what a process's address space must answer (/proc/PID/cmdline, maps): a process that waits for a silent file system holds its
lock, and the reader would wait with it.
"""
import ctypes
import glob
import json
import os
import struct
import subprocess
import time

SETTINGS = [*(f"/proc/sys/kernel/{name}" for name in (
                "bpf_stats_enabled", "kptr_restrict", "perf_cpu_time_max_percent", "perf_event_max_sample_rate", "perf_event_mlock_kb",
                "perf_event_paranoid", "randomize_va_space", "yama/ptrace_scope")),
            *(f"/proc/sys/fs/protected_{name}" for name in ("fifos", "hardlinks", "regular", "symlinks")),
            "/proc/sys/user/max_user_namespaces", *sorted(glob.glob("/sys/devices/system/cpu/cpu[0-9]*/online"))]
CONNECTIONS = "/sys/fs/fuse/connections"
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
libc = ctypes.CDLL(None, use_errno=True)


def call(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind=None, flags=0):
    call(libc.mount(source.encode(), target.encode(), kind.encode() if kind else None, flags, None), f"mount {target}")


def own_mount_namespace():
    """Mounts made from here on are seen by this process and its children alone."""
    call(libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", flags=MS_REC | MS_PRIVATE)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Cgroup:
    """A cgroup below the root of version 2, or of version 1's CPU accounting where that is all there is."""

    def __init__(self, name):
        mounts = [line.split() for line in read("/proc/self/mounts").splitlines()]
        roots = [m[1] for m in mounts if m[2] == "cgroup2"] + [m[1] for m in mounts if m[2] == "cgroup" and "cpuacct" in m[3].split(",")]
        if not roots:
            raise OSError("no cgroup file system with CPU accounting is mounted")
        self.path = os.path.join(roots[0], "cicada-test", name)

    def create(self):
        os.makedirs(self.path, exist_ok=True)

    def add_self(self):
        write(f"{self.path}/cgroup.procs", "0")

    def processes(self):
        """Of it and of what is below it; the dead ones that nobody has waited for do not count."""
        found = []
        for directory, _, _ in os.walk(self.path):
            try:
                found += [int(pid) for pid in read(f"{directory}/cgroup.procs").split()]
            except OSError:
                pass
        return [pid for pid in found if state_of(pid) not in "ZX"]

    def used_seconds(self):
        try:
            if os.path.exists(f"{self.path}/cpuacct.usage"):
                return int(read(f"{self.path}/cpuacct.usage")) / 1e9
            return int(dict(line.split() for line in read(f"{self.path}/cpu.stat").splitlines())["usage_usec"]) / 1e6
        except OSError:
            return 0.0

    def kill(self):
        if os.path.exists(f"{self.path}/cgroup.kill"):
            write(f"{self.path}/cgroup.kill", "1")
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except OSError:
                pass

    def remove(self):
        """False while something in it is alive."""
        for directory, _, _ in os.walk(self.path, topdown=False):
            try:
                os.rmdir(directory)
            except OSError:
                pass
        return not os.path.exists(self.path)


def state_of(pid):
    """R, S, D, Z, …; X: there is none."""
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return "X"


def name_of(pid):
    try:
        return f"{read(f'/proc/{pid}/comm').strip()} ({pid}, state {state_of(pid)})"
    except OSError:
        return str(pid)


def is_killed(pid):
    """A signal that cannot be refused is on its way."""
    try:
        pending = [int(line.split()[1], 16) for line in read(f"/proc/{pid}/status").splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))]
    except OSError:
        return True
    return any(mask & 1 << 8 for mask in pending)


def settings():
    values = {}
    for path in SETTINGS:
        try:
            values[path] = read(path).strip()
        except OSError:
            pass
    return values


def restore_settings(wanted):
    for path, value in wanted.items():
        try:
            if read(path).strip() != value:
                write(path, value)
        except OSError:
            pass


def show_connections():
    """Makes CONNECTIONS readable, in a mount namespace of this process."""
    if os.path.isdir(CONNECTIONS) and not os.listdir(CONNECTIONS):
        try:
            mount("fusectl", CONNECTIONS, "fusectl")
        except OSError:
            pass


def connections():
    try:
        return sorted(os.listdir(CONNECTIONS))
    except OSError:
        return []


def abort_connections(known):
    """Ends the file systems of user space that were not there before, and are mounted in no namespace but the test's: who waits for them wakes up."""
    show_connections()
    elsewhere = {line.split()[2].rpartition(":")[2] for line in read("/proc/1/mountinfo").splitlines()}
    for number in connections():
        if number not in known and number not in elsewhere:
            try:
                write(f"{CONNECTIONS}/{number}/abort", "1")
            except OSError:
                pass


def bpf_objects(kind):
    """The ids of the BPF objects that the kernel has: "prog", "map" or "link"."""
    command = {"prog": 11, "map": 12, "link": 31}[kind]  # BPF_PROG_GET_NEXT_ID and so on
    found, attributes = set(), ctypes.create_string_buffer(128)
    number = 0
    while True:
        struct.pack_into("<III", attributes, 0, number, 0, 0)
        if libc.syscall(321, command, attributes, 128) != 0:  # bpf
            return found
        number = struct.unpack_from("<I", attributes, 4)[0]
        found.add(number)


def programs():
    return bpf_objects("prog")


def abandoned_programs(known, seconds=10):
    """BPF programs that were not there before and that no process holds. They go some time after who held them: those that stay are told."""
    deadline, left = time.monotonic() + seconds, programs() - known
    names = {}
    while left and time.monotonic() < deadline:
        try:
            shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, check=True, timeout=60).stdout)
        except (OSError, ValueError, subprocess.SubprocessError):
            return []
        names = {one["id"]: one.get("name", "?") for one in shown if one["id"] in left and not one.get("pids")}
        left = set(names)
        time.sleep(0.2)
    return [f"{name} ({number})" for number, name in names.items()]


class Load:
    """What the machine did between two moments, in seconds of CPU: `busy` for everybody, `stolen` by the hypervisor, `all` that there was."""

    def __init__(self):
        fields = [int(field) / os.sysconf("SC_CLK_TCK") for field in read("/proc/stat").splitlines()[0].split()[1:9]]
        user, nice, system, idle, waiting, interrupts, softirqs, stolen = fields
        self.busy = user + nice + system + interrupts + softirqs
        self.stolen = stolen
        self.all = self.busy + stolen + idle + waiting

    def since(self, before):
        return self.busy - before.busy, self.stolen - before.stolen, max(self.all - before.all, 0.01)


def undo(state):
    """Undoes what is left of a test: `state` is what house.py noted before it. Idempotent; False if something of it could not be ended."""
    own_mount_namespace()
    show_connections()
    cgroup = Cgroup(state["name"])
    deadline = time.monotonic() + 120
    while os.path.exists(cgroup.path):
        abort_connections(state["connections"])
        cgroup.kill()
        if cgroup.remove() or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    restore_settings(state["settings"])
    return not os.path.exists(cgroup.path)

# SPDX-License-Identifier: Apache-2.0
"""The kernel side of a running cicada, as its own kernel knows it. Needs root.

usage: kernel_side.py PID keep-statistics   prints "ready"; until it is killed the kernel counts the runs of BPF programs, whatever others set
                                            kernel.bpf_stats_enabled to
       kernel_side.py PID runs              prints "ready"; when the process has ended: how often its sampling program ran, since the kernel counts
       kernel_side.py PID claim-scratch S   takes all working memory of the sampling program for S seconds, as runs that it interrupted would
       kernel_side.py PID fill-processes    fills the table of processes, with pids that no process can have
       kernel_side.py PID stop-thread NAME S   stops one of its threads for S seconds
"""
import ctypes
import os
import select
import signal
import struct
import sys
import time

SYS_BPF = 321
MAP_LOOKUP, MAP_UPDATE, PROG_FD_BY_ID, MAP_FD_BY_ID, INFO_BY_FD, ENABLE_STATS = 1, 2, 13, 14, 15, 32
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, packed):
    attributes = ctypes.create_string_buffer(packed.ljust(128, b"\0"), 128)
    result = libc.syscall(SYS_BPF, command, attributes, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return result


def info_of(fd):
    """struct bpf_prog_info or bpf_map_info"""
    info = ctypes.create_string_buffer(256)
    bpf(INFO_BY_FD, struct.pack("=IIQ", fd, len(info), ctypes.addressof(info)))
    return info.raw


def find(pid, key, command, name, name_at):
    """A descriptor of the process' program or map with this name: what fdinfo calls prog_id or map_id."""
    for _ in range(400):
        for entry in os.listdir(f"/proc/{pid}/fdinfo"):
            try:
                lines = open(f"/proc/{pid}/fdinfo/{entry}", encoding="utf-8").read().splitlines()
            except OSError:
                continue
            for line in lines:
                if line.startswith(key + ":"):
                    fd = bpf(command, struct.pack("=III", int(line.split()[1]), 0, 0))
                    if info_of(fd)[name_at : name_at + 16].split(b"\0")[0].decode() == name:
                        return fd
                    os.close(fd)
        time.sleep(0.05)
    sys.exit(f"process {pid} has no {key} named {name}")


def find_map(pid, name):
    fd = find(pid, "map_id", MAP_FD_BY_ID, name, 24)
    key_size, value_size, entries = struct.unpack_from("=III", info_of(fd), 8)
    return fd, key_size, value_size, entries


def keep_statistics():
    bpf(ENABLE_STATS, struct.pack("=I", 0))  # of run time; as long as its descriptor is open
    print("ready", flush=True)
    signal.pause()


def runs(pid):
    fd = find(pid, "prog_id", PROG_FD_BY_ID, "on_perf_event", 64)
    ended = os.pidfd_open(pid)
    print("ready", flush=True)
    select.select([ended], [], [])
    print(struct.unpack_from("=Q", info_of(fd), 200)[0])


def claim_scratch(pid, seconds):
    fd, _, value_size, entries = find_map(pid, "scratch")
    cpus = int(open("/sys/devices/system/cpu/possible", encoding="utf-8").read().strip().split("-")[-1]) + 1
    stride = (value_size + 7) & ~7
    value, key = ctypes.create_string_buffer(stride * cpus), ctypes.c_uint32()
    both = struct.pack("=IIQQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
    for claimed in (1, 0):
        for key.value in range(entries):
            bpf(MAP_LOOKUP, both)
            for cpu in range(cpus):
                struct.pack_into("=I", value, cpu * stride, claimed)
            bpf(MAP_UPDATE, both)
        if claimed:
            time.sleep(seconds)


def fill_processes(pid):
    fd, _, value_size, entries = find_map(pid, "processes")
    value, key = ctypes.create_string_buffer(value_size), ctypes.c_uint32()
    both = struct.pack("=IIQQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0)
    for key.value in range(5_000_000, 5_000_000 + 2 * entries):
        try:
            bpf(MAP_UPDATE, both)
        except OSError:
            print("full", flush=True)
            return
    sys.exit("the table of processes has no end")


def stop_thread(pid, name, seconds):
    tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task") if open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8").read().strip() == name[:15]]
    if not tids:
        sys.exit(f"process {pid} has no thread {name}")
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    for tid in tids:
        if libc.ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 or libc.ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")
        os.waitpid(tid, WALL)
    time.sleep(seconds)
    for tid in tids:
        libc.ptrace(PTRACE_DETACH, tid, 0, 0)


command, pid = sys.argv[2], int(sys.argv[1])
if command == "keep-statistics":
    keep_statistics()
elif command == "runs":
    runs(pid)
elif command == "claim-scratch":
    claim_scratch(pid, float(sys.argv[3]))
elif command == "fill-processes":
    fill_processes(pid)
elif command == "stop-thread":
    stop_thread(pid, sys.argv[3], float(sys.argv[4]))
else:
    sys.exit(__doc__)

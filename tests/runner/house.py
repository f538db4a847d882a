# SPDX-License-Identifier: Apache-2.0
"""Runs one test script in a house of its own, and tears the house down whatever happens.

usage: house.py --place FOLDER --tree TREE --seconds N NAME COMMAND…
       house.py --tidy                     undoes what a run left that was killed together with everything that could have undone it

The house: a mount namespace with an empty /tmp (TREE stays visible if it lies below /tmp), a cgroup, and the machine's settings saved. A test that
leaves a process, a mount, a BPF program, or a file in /tmp that it did not announce ("# leaves in /tmp: GLOB…" in the script) is red. FOLDER/NAME
keeps the log, and of a red test its /tmp.

Three processes. The *front* is what ctest sees: it prints, and ends with the test's code. The *keeper* has left the front's session; when the front
goes, or the time is over, it ends the test and undoes what is left of it. The *tenant* lives in the house, runs the script, and looks around before
it leaves. One keeper works at a time on a machine; what it has to undo stands in a file, for the next one, should it be killed, too.

The witness: how much of the machine's CPU time others used and the hypervisor took meanwhile. A test that is red while that was more than LIMIT runs
once more, unless CICADA_TEST_STRICT is set; both results are printed. CICADA_TEST_WITNESS names a file that gets a line a test:
NAME, pass fail or skip, attempts, seconds, seconds of CPU, percent used by others, percent stolen, tab-separated.

Exit code: the script's; 1 if it was red for another reason.
"""
import argparse
import fcntl
import fnmatch
import json
import os
import re
import select
import shutil
import signal
import sys
import time

import explain
import machine

LIMIT = 10.0  # percent of the machine's CPU time
RUN = "/run/cicada-tests"
STATE = f"{RUN}/state.json"
SKIPPED = 77
IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ)  # by the keeper; Python ignores the last two by itself


def announced(command):
    """Globs of files below /tmp that the script says it leaves."""
    try:
        return re.findall(r"\S+", " ".join(re.findall(r"^# leaves in /tmp: (.*)$", machine.read(command[0]), re.M)))
    except OSError:
        return []


def mounts():
    return [line.split()[4] for line in machine.read("/proc/self/mountinfo").splitlines()]


def move_in(house, tree):
    """Into the cgroup and a mount namespace whose /tmp is house/tmp."""
    machine.Cgroup(os.path.basename(house)).add_self()
    machine.own_mount_namespace()
    source = os.open(tree, os.O_PATH)
    machine.mount(f"{house}/tmp", "/tmp", flags=machine.MS_BIND)
    if os.path.realpath(tree).startswith("/tmp/"):
        os.makedirs(os.path.realpath(tree))
        machine.mount(f"/proc/self/fd/{source}", os.path.realpath(tree), flags=machine.MS_BIND)
    os.close(source)
    os.chdir("/tmp")


def look_around(cgroup, before, tree, allowed):
    """What the script has left: processes, once those that are being killed have gone; mounts; files."""
    deadline = time.monotonic() + 10
    while True:
        alive = [pid for pid in cgroup.processes() if pid != os.getpid()]
        if not alive or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    left = [f"the process {machine.name_of(pid)}" for pid in alive if not machine.is_killed(pid)]
    after = mounts()
    for point in before:
        if point in after:
            after.remove(point)
    left += [f"the mount {point}" for point in after]
    own = os.path.relpath(os.path.realpath(tree), "/tmp").split("/")[0]  # ".." if the tree is elsewhere
    left += [f"the file /tmp/{name}" for name in sorted(os.listdir("/tmp")) if name != own and not any(fnmatch.fnmatch(name, glob) for glob in allowed)]
    return left


def live(house, tree, command, log, report):
    """The tenant: does not return."""
    try:
        os.setsid()
        for kind in IGNORED:  # a program starts with what its parent ignored
            signal.signal(kind, signal.SIG_DFL)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(report, 3)
        os.closerange(4, 4096)
        move_in(house, tree)
        before = mounts()
        child = os.fork()
        if child == 0:
            os.close(3)
            os.environ["KEEP"] = "1"  # a red test's files: they go with the house
            try:
                os.execv(command[0], command)
            except OSError as error:
                print(f"FAILED: {command[0]}: {error.strerror}", flush=True)
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code < 0:
            print(f"FAILED: ended by {signal.Signals(-code).name}", flush=True)
        left = look_around(machine.Cgroup(os.path.basename(house)), before, tree, announced(command))
        os.write(3, json.dumps({"code": code if code >= 0 else 128 - code, "left": left}).encode())
        os._exit(0)
    except BaseException as error:
        os.write(2, f"FAILED: no house for the test: {error}\n".encode())
        os._exit(1)


class Attempt:
    """One run of the script: `code`, and `others`, `stolen` in percent of the machine's CPU time."""

    def __init__(self, options, house, log_path, front):
        cgroup = machine.Cgroup(options.name)
        machine.show_connections()
        state = {"name": options.name, "settings": machine.settings(), "connections": machine.connections()}
        machine.write(f"{STATE}.new", json.dumps(state))
        os.rename(f"{STATE}.new", STATE)
        shutil.rmtree(f"{house}/tmp", ignore_errors=True)
        os.makedirs(f"{house}/tmp")
        os.chmod(f"{house}/tmp", 0o1777)
        cgroup.create()
        programs, before, begin = machine.programs(), machine.Load(), time.monotonic()
        reading, writing = os.pipe()
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        tenant = os.fork()
        if tenant == 0:
            live(house, options.tree, options.command, log, writing)
        os.close(writing)
        handle = os.pidfd_open(tenant)
        ready = select.select([handle, front], [], [], options.seconds)[0]
        self.seconds, self.used = time.monotonic() - begin, cgroup.used_seconds()
        busy, stolen, all_ = machine.Load().since(before)
        self.others, self.stolen = max(0.0, 100 * (busy - self.used) / all_), 100 * stolen / all_
        self.abandoned = handle not in ready and front in ready
        said = os.read(reading, 1 << 16) if handle in ready else b""
        ended = machine.undo(state)
        if ended:
            os.waitpid(tenant, 0)
        os.close(reading)
        os.close(handle)
        if self.abandoned:
            os.unlink(STATE)
            return
        report = json.loads(said) if said else {"code": 1, "left": []}
        if handle not in ready:
            os.write(log, f"FAILED: not finished after {options.seconds} s; ended\n".encode())
        if not ended:
            os.write(log, b"FAILED: a process of the test cannot be ended\n")
        self.code = report["code"] if ended else 1
        left = report["left"] + [f"the BPF program {name}" for name in machine.abandoned_programs(programs)]
        if left and self.code in (0, SKIPPED):
            os.write(log, "".join(f"FAILED: the test left {one}\n" for one in left).encode())
            self.code = 1
        os.close(log)
        os.unlink(STATE)
        if self.code in (0, SKIPPED):
            shutil.rmtree(f"{house}/tmp", ignore_errors=True)

    def result(self):
        return {0: "pass", SKIPPED: "skip"}.get(self.code, "fail")

    def load(self):
        return f"others used {self.others:.0f} % of the machine's CPU time, {self.stolen:.0f} % was stolen"


def wait_for_lock(front=None):
    """None: the front has gone meanwhile."""
    os.makedirs(RUN, exist_ok=True)
    lock = os.open(f"{RUN}/lock", os.O_RDWR | os.O_CREAT, 0o600)
    said = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            if not said:
                print("waiting for another test on this machine to end", flush=True)
            said = True
            if select.select([front] if front is not None else [], [], [], 0.1)[0]:
                return None


def tidy():
    """Undoes what stands in the file of a keeper that was killed. The lock is held."""
    try:
        state = json.loads(machine.read(STATE))
    except (OSError, ValueError):
        return
    machine.undo(state)
    os.unlink(STATE)


def keep(options, front):
    """The keeper: the test's code, or None if the front has gone."""
    lock = wait_for_lock(front)
    if lock is None:
        return None
    tidy()
    machine.own_mount_namespace()
    house = os.path.join(os.path.realpath(options.place), options.name)
    os.makedirs(house, exist_ok=True)
    attempts = []
    for log in ("log", "log.again"):
        attempt = Attempt(options, house, f"{house}/{log}", front)
        if attempt.abandoned:
            return None
        attempts.append(attempt)
        text = machine.read(f"{house}/{log}")
        lines = text.splitlines()
        if attempt.result() != "fail":
            print("\n".join(lines[-200:]))
        else:
            print("\n".join(explain.essence(lines)), f"\nlog: {house}/{log}; its /tmp: {house}/tmp")
        print(f"{attempt.result()} in {attempt.seconds:.1f} s, {attempt.used:.1f} s of CPU; {attempt.load()}", flush=True)
        if attempt.result() != "fail" or os.environ.get("CICADA_TEST_STRICT") or attempt.others + attempt.stolen <= LIMIT:
            break
    if len(attempts) > 1:
        print(f"repeated: {attempts[0].result()} while {attempts[0].load()}; then {attempts[1].result()} while {attempts[1].load()}")
    if os.environ.get("CICADA_TEST_WITNESS"):
        with open(os.environ["CICADA_TEST_WITNESS"], "a", encoding="utf-8") as witness:
            print(options.name, attempt.result(), len(attempts), f"{attempt.seconds:.1f}\t{attempt.used:.1f}\t{attempts[0].others:.1f}\t{attempts[0].stolen:.1f}",
                  sep="\t", file=witness)
    return attempt.code


def run(options):
    """The front."""
    front_reading, front_writing = os.pipe()
    out_reading, out_writing = os.pipe()
    code_reading, code_writing = os.pipe()
    between = os.fork()
    if between == 0:
        os.setsid()
        for kind in IGNORED:
            signal.signal(kind, signal.SIG_IGN)
        if os.fork() != 0:
            os._exit(0)
        code = 1
        try:
            os.dup2(out_writing, 1)
            os.dup2(out_writing, 2)
            for end in (front_writing, out_reading, out_writing, code_reading):
                os.close(end)
            code = keep(options, front_reading)
        except BaseException as error:
            print(f"FAILED: the test's house: {type(error).__name__}: {error}", flush=True)
        finally:
            sys.stdout.flush()
            os.write(code_writing, str(1 if code is None else code).encode())
            os._exit(0)
    for end in (front_reading, out_writing, code_writing):
        os.close(end)
    os.waitpid(between, 0)
    machine.libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: goes with ctest
    while text := os.read(out_reading, 1 << 16):
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    code = os.read(code_reading, 16)
    if not code:
        print("FAILED: the keeper of the test was killed")
        wait_for_lock()
        tidy()
    return int(code or 1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--place")
    parser.add_argument("--tree")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--tidy", action="store_true")
    parser.add_argument("name", nargs="?")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.tidy:
        wait_for_lock()
        tidy()
        return 0
    if os.geteuid() != 0:
        os.execv(options.command[0], options.command)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())

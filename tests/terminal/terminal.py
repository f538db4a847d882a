# SPDX-License-Identifier: Apache-2.0
"""Terminals for tests: Pty (what is sent is seen byte by byte) and Tmux (what it looks like). `run(test, …)` is the main program of a test."""
import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
LIMIT = 120  # seconds; of a hang


class Failed(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failed(text)


def equal(got, wanted, text):
    expect(got == wanted, f"{text}:\n  got    {got!r}\n  wanted {wanted!r}")


def wait_for(condition, text):
    deadline = time.monotonic() + LIMIT
    while not condition():
        expect(time.monotonic() < deadline, f"waited in vain: {text() if callable(text) else text}")
        time.sleep(0.01)


def environment(**changes):
    """LANG and TERM of somebody who has set them up; None removes a variable."""
    all_ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", **changes}
    return {name: value for name, value in all_.items() if value is not None}


class Inputs:
    """What show_grid has said so far. `taken`: how many lines of it were looked at."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "inputs")
        open(self.path, "w").close()
        self.taken = 0

    def lines(self):
        with open(self.path) as file:
            return file.read().splitlines()

    def next(self, count=1):
        wait_for(lambda: len(self.lines()) >= self.taken + count, lambda: f"{count} inputs after {self.lines()[:self.taken]}, have {self.lines()[self.taken:]}")
        self.taken += count
        return self.lines()[self.taken - count:self.taken]


class Pty:
    def __init__(self, width=80, height=24, words=None, **variables):
        self.directory = tempfile.mkdtemp()
        self.inputs = Inputs(self.directory)
        self.master, self.slave = pty.openpty()
        self.resize(width, height)
        self.modes = termios.tcgetattr(self.slave)
        self.seen = b""

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.errors = open(os.path.join(self.directory, "errors"), "w+b")
        self.process = subprocess.Popen(words or [PROGRAM, "--inputs", self.inputs.path], stdin=self.slave, stdout=self.slave, stderr=self.errors,
                                        env=environment(**variables), start_new_session=True, preexec_fn=take_terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            if fd is not None:
                os.close(fd)
        self.errors.close()
        shutil.rmtree(self.directory)

    def resize(self, width, height):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def output(self):
        """What has come since the last call."""
        out = b""
        while select.select([self.master], [], [], 0)[0]:
            try:
                block = os.read(self.master, 1 << 16)
            except OSError:
                break
            if not block:
                break
            out += block
        self.seen += out
        return out

    def inputs_after(self, text, count=1):
        self.send(text)
        deadline = time.monotonic() + LIMIT
        while len(self.inputs.lines()) < self.inputs.taken + count and time.monotonic() < deadline:
            self.output()  # or the program waits for its terminal
            time.sleep(0.005)
        return self.inputs.next(count)

    def begin(self):
        equal(self.inputs_after("", 1), ["ready"], "the program starts")
        self.output()
        return self.seen

    def end(self):
        """The exit code."""
        deadline = time.monotonic() + LIMIT
        while self.process.poll() is None:
            expect(time.monotonic() < deadline, "the program does not end")
            self.output()
            time.sleep(0.005)
        self.output()
        return self.process.returncode

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()


class Tmux:
    """show_grid, or a command, in a tmux of its own."""

    def __init__(self, width, height, command=None, **variables):
        self.directory = tempfile.mkdtemp()
        self.inputs = Inputs(self.directory)
        self.environment = {**environment(), "TMUX_TMPDIR": self.directory, "SHELL": "/bin/sh", "HOME": self.directory}
        words = [f"{name}={value}" for name, value in environment(**{"TERM": "tmux-256color", **variables}).items()]
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "env", "-i", *words, *(command or [PROGRAM, "--inputs", self.inputs.path]))
        self.tmux("set-option", "-g", "status", "off")
        if not command:
            equal(self.inputs.next(), ["ready"], "the program starts")
        if self.size() != (width, height):  # before the status line went
            self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", "test", "kill-server"], env=self.environment, capture_output=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-L", "test", *words], env=self.environment, capture_output=True, timeout=LIMIT)
        expect(done.returncode == 0, f"tmux {' '.join(words)}: {done.stderr.decode()}")
        return done.stdout.decode()

    def size(self):
        return tuple(map(int, self.tmux("display-message", "-p", "#{pane_width} #{pane_height}").split()))

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def rows(self, *options):
        return self.tmux("capture-pane", "-p", *options).splitlines()

    def rows_when(self, condition):
        """The screen, once the condition holds for it."""
        rows = []

        def holds():
            rows[:] = self.rows()
            return condition(rows)

        wait_for(holds, lambda: "the screen is\n" + "\n".join(rows))
        return rows


def run(*tests):
    if shutil.which("tmux") is None:
        print("SKIP: no tmux")
        sys.exit(77)
    failures = 0
    for test in tests:
        try:
            test()
            print(f"ok: {test.__name__}", flush=True)
        except Failed as failed:
            failures += 1
            print(f"FAILED: {test.__name__}: {failed}", flush=True)
    sys.exit(1 if failures else 0)

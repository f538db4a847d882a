#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where no screen can be shown, a message says why, and nothing is sent to the terminal."""
import subprocess
import termios

from terminal import PROGRAM, Pty, environment, equal, expect, run


def refuses(reason, **variables):
    with Pty(**variables) as terminal:
        equal(terminal.end(), 1, f"exit code with {variables}")
        expect(reason in terminal.said(), f"{variables}: the message is {terminal.said()!r}")
        equal(terminal.said().count("\n"), 1, "lines of the message")
        equal(terminal.seen, b"", "sent to the terminal")
        equal(termios.tcgetattr(terminal.slave), terminal.modes, "the modes afterwards")


def terminals():
    refuses("TERM is not set", TERM=None)
    refuses("TERM is not set", TERM="")
    refuses('"no-such-terminal" (TERM) is not known', TERM="no-such-terminal")
    refuses('can only print lines', TERM="dumb")
    refuses("(TERM) is not known", TERM="../../../etc/passwd")
    refuses('"a\ufffd[2J" (TERM) is not known', TERM="a\x1b[2J")
    refuses("(TERM) is not known", TERM="x" * 5000)


def pipes():
    done = subprocess.run([PROGRAM], env=environment(), stdin=subprocess.DEVNULL, capture_output=True)
    equal((done.returncode, done.stdout, done.stderr.decode().split(";")[0]), (1, b"", "standard input is no terminal, and `cicada top` draws on one"), "without a terminal")
    with Pty(words=["/bin/sh", "-c", f"exec {PROGRAM} </dev/null"]) as terminal:
        equal(terminal.end(), 1, "exit code")
        equal(terminal.said().split(",")[0], "standard input is no terminal", "the message")
        equal(terminal.said().count("\n"), 1, "lines of the message")


run(terminals, pipes)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever ends the program, the terminal is as it was: its modes, its screen, its cursor, no mouse."""
import re
import signal
import termios

from terminal import Pty, equal, expect, run


def check(end, **variables):
    with Pty(**variables) as terminal:
        terminal.begin()
        expect(termios.tcgetattr(terminal.slave) != terminal.modes, "the terminal is ours")
        end(terminal)
        equal(terminal.end(), 0, "exit code")
        equal(termios.tcgetattr(terminal.slave), terminal.modes, "the modes afterwards")
        if variables.get("TERM", "").startswith("vt"):
            return
        for given, taken in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1002h", b"\x1b[?1002l"), (b"\x1b[?1006h", b"\x1b[?1006l")):
            expect(given in terminal.seen, f"{given} is sent")
            expect(terminal.seen.rindex(taken) > terminal.seen.rindex(given), f"{taken} is sent at the end")


def after_q():
    check(lambda terminal: terminal.send("q"))


def after_interrupts():
    check(lambda terminal: terminal.send("\x03\x03\x03"))


def after_sigterm():
    check(lambda terminal: terminal.process.terminate())


def after_sigterm_amid_a_resize():
    def end(terminal):
        terminal.resize(200, 60)
        terminal.process.terminate()
    check(end)


def goes_on_after_sigtstp():
    # A process that is locked up cannot stop itself.
    with Pty() as terminal:
        terminal.begin()
        terminal.seen = b""
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.inputs_after("z")
        terminal.output()
        expect("日本語".encode() in terminal.seen, "all is drawn again")
        terminal.send("q")
        equal(terminal.end(), 0, "exit code")
        equal(termios.tcgetattr(terminal.slave), terminal.modes, "the modes afterwards")


def of_a_large_terminal():
    # LINES of a shell that was smaller.
    with Pty(200, 60, LINES="24", COLUMNS="80") as terminal:
        expect(b"200x60" in terminal.begin(), "all of it is used")
        terminal.send("q")
        equal(terminal.end(), 0, "exit code")
        equal(set(re.findall(rb"\x1b\[1;(\d+)r", terminal.seen)), {b"60"}, "rows in which lines scroll")


def of_an_old_terminal():
    check(lambda terminal: terminal.send("q"), TERM="vt100")


run(after_q, after_interrupts, after_sigterm, after_sigterm_amid_a_resize, goes_on_after_sigtstp, of_a_large_terminal, of_an_old_terminal)

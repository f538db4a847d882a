#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is pressed arrives, by the bytes that terminals send."""
import os
import signal

from terminal import LIMIT, Pty, equal, expect, run


def keys():
    with Pty() as terminal:
        terminal.begin()
        for sent, wanted in (("a", "letter 61"), ("ß", "letter df"), ("日", "letter 65e5"), ("😀", "letter 1f600"), ("?", "letter 3f"), ("\r", "enter"), ("\n", "enter"),
                             ("\t", "tab"), ("\x1b[Z", "back-tab"), ("\x7f", "backspace"), ("\b", "backspace"), ("\x1b", "escape"), ("\x03", "interrupt"),
                             ("\x1bOA", "up"), ("\x1bOB", "down"), ("\x1bOC", "right"), ("\x1bOD", "left"), ("\x1bOH", "home"), ("\x1bOF", "end"),
                             ("\x1b[5~", "page-up"), ("\x1b[6~", "page-down")):
            equal(terminal.inputs_after(sent), [wanted], repr(sent))
        equal(terminal.inputs_after("ab\x1bOAc", 4), ["letter 61", "letter 62", "up", "letter 63"], "keys that come together")
        equal(terminal.inputs_after("\x1b\x1bOA", 2), ["escape", "up"], "escape and a key")
        equal(terminal.inputs_after("\x1ba", 2), ["escape", "letter 61"], "escape and a letter")


def mouse():
    with Pty(300, 50) as terminal:
        first = terminal.begin()
        expect(b"\x1b[?1002h" in first and b"\x1b[?1006h" in first, "the mouse is asked for")
        for sent, wanted in (("\x1b[<0;5;7M\x1b[<0;5;7m", "click 4 6"), ("\x1b[<64;10;2M", "wheel-up 9 1"), ("\x1b[<65;300;50M", "wheel-down 299 49"),
                             ("\x1b[<16;299;3M", "click 298 2"), ("\x1b[M !\"", "click 0 1"), ("\x1b[<32;6;7M", "drag 5 6")):
            equal(terminal.inputs_after(sent), [wanted], repr(sent))
        press = "\x1b[<0;9;9M\x1b[<0;9;9m"
        equal(terminal.inputs_after(3 * press, 3), ["click 8 8", "double-click 8 8", "click 8 8"], "three clicks at once")
        # Nothing of these is a click, nor a letter.
        for sent in ("\x1b[<0;301;1M", "\x1b[<0;0;0M", "\x1b[<2;3;3M", "\x1b[<0;3;3m", "\x1b[<99999999999;1;1M"):
            equal(terminal.inputs_after(sent + "z"), ["letter 7a"], repr(sent))


def what_nobody_knows():
    with Pty() as terminal:
        terminal.begin()
        for sent in (b"\x1b[I", b"\x1b[1;9Q", b"\x1b[200~", b"\x1bOX", b"\x1b[24~", b"\x01", b"\xc2\x80"):
            equal(terminal.inputs_after(sent + b"z"), ["letter 7a"], repr(sent))


def control_l_draws_all():
    with Pty() as terminal:
        first = terminal.begin()
        terminal.seen = b""
        terminal.inputs_after("z")
        terminal.output()
        equal(terminal.seen, b"", "nothing has changed")
        terminal.inputs_after("\x0cz")
        terminal.output()
        expect("日本語".encode() in first and "日本語".encode() in terminal.seen, "all is drawn again")


def a_terminal_that_goes():
    with Pty() as terminal:
        terminal.begin()
        for fd in (terminal.slave, terminal.master):
            os.close(fd)
        terminal.slave = terminal.master = None
        terminal.process.wait(timeout=LIMIT)
        expect(terminal.process.returncode in (0, -signal.SIGHUP), f"it ended with {terminal.process.returncode}")


run(keys, mouse, what_nobody_knows, control_l_draws_all, a_terminal_that_goes)

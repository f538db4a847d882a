#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An update in which little changes is a few bytes, and a terminal that does not read costs no memory."""
import time

from terminal import Pty, equal, expect, run


def a_number():
    with Pty(200, 60) as terminal:
        first = terminal.begin()
        expect(len(first) > 1000, f"the first picture is {len(first)} bytes")
        sizes = []
        for _ in range(9):
            terminal.output()
            terminal.seen = b""
            terminal.inputs_after("t")
            terminal.output()
            sizes.append(len(terminal.seen))
        # One digit: "ESC [ 1 ; 14 H", the digit, and what makes it bold and ends that.
        expect(all(1 <= size <= 32 for size in sizes), f"a digit takes {sizes} bytes")


def nothing():
    with Pty(200, 60) as terminal:
        terminal.begin()
        terminal.seen = b""
        terminal.inputs_after("zzz", 3)
        terminal.output()
        equal(terminal.seen, b"", "sent for a picture that is the same")


def pictures_are_shown_at_once():
    with Pty(200, 60) as terminal:
        first = terminal.begin()
        expect(first.index(b"\x1b[?2026h") < first.index("日本語".encode()) < first.index(b"\x1b[?2026l"), "the terminal is told where a picture begins and ends")
        terminal.seen = b""
        terminal.inputs_after("t")
        terminal.output()
        expect(b"2026" not in terminal.seen, "not for a digit")


def private_memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Private_Dirty:", "Private_Clean:")))


def resizes_use_no_memory():
    """Of which each draws all anew."""
    with Pty(200, 60) as terminal:
        terminal.begin()

        def storm():
            for i in range(200):
                terminal.resize(60 + i % 100, 20 + i % 30)
                terminal.inputs_after("", 1)
            terminal.resize(200, 60)
            terminal.inputs_after("", 1)
        storm()
        before = private_memory(terminal.process.pid)
        storm()
        after = private_memory(terminal.process.pid)
        expect(after <= before + 512, f"{after - before} KiB more after 200 sizes")


def a_terminal_that_does_not_read():
    with Pty(200, 60) as terminal:
        terminal.begin()
        before = private_memory(terminal.process.pid)
        # Redraws until the pipe is full, and more; it must wait.
        terminal.send("\x0c" * 200)
        ticks = lambda: sum(map(int, open(f"/proc/{terminal.process.pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))
        waits = lambda: open(f"/proc/{terminal.process.pid}/stat").read().rsplit(")", 1)[1].split()[0] == "S"
        while not waits():
            time.sleep(0.01)
        used = ticks()
        after = private_memory(terminal.process.pid)
        expect(after <= before + 256, f"{after - before} KiB more")
        time.sleep(0.5)
        expect(ticks() - used <= 2, f"it worked {ticks() - used} ticks while it had to wait")
        equal(terminal.inputs_after("z"), ["letter 7a"], "it goes on")


run(a_number, nothing, pictures_are_shown_at_once, resizes_use_no_memory, a_terminal_that_does_not_read)

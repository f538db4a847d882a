#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cicada top FILE` in tmux: golden screens (tests/terminal/screens) of a fixed recording, keys and the mouse, sizes that change, hostile and wide names.
With UPDATE=1 the golden screens are written anew: look at them."""
import os
import random
import subprocess
import sys
import tempfile

from terminal import Tmux, equal, expect, run, wait_for

CICADA, GOLDEN_PROFILE = sys.argv[1:3]
SCREENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens")
KEPT = tempfile.TemporaryDirectory()  # until the test ends
FOLDER = KEPT.name
RECORDING = os.path.join(FOLDER, "golden.cicada")
subprocess.run([GOLDEN_PROFILE, RECORDING], check=True)


def top(width, height, recording=RECORDING, **variables):
    return Tmux(width, height, ["/bin/sh", "-c", f"cd {FOLDER} && exec {CICADA} top {os.path.basename(recording)}"], **variables)


def settled(terminal):
    """The screen, once it is the same for a while."""
    rows, still = [], 0

    def is_still():
        nonlocal still
        before = rows[:]
        rows[:] = terminal.rows()
        still = still + 1 if rows == before and any(rows) else 0
        return still == 20

    wait_for(is_still, lambda: "the screen goes on changing:\n" + "\n".join(rows))
    return rows


def golden(terminal, name):
    """The screen becomes the golden one."""
    path = os.path.join(SCREENS, name + ".txt")
    if os.environ.get("UPDATE"):
        with open(path, "w") as file:
            file.write("\n".join(row.rstrip() for row in settled(terminal)) + "\n")
    with open(path) as file:
        wanted = file.read().splitlines()
    rows = []

    def is_golden():
        rows[:] = [row.rstrip() for row in terminal.rows()]
        return rows == wanted

    wait_for(is_golden, lambda: f"{name}, it is\n" + "\n".join(rows))


def has(text):
    return lambda rows: any(text in row for row in rows)


def views_of_every_size():
    for width, height in ((80, 24), (120, 40), (200, 60), (20, 5)):
        with top(width, height) as terminal:
            terminal.rows_when(has("all"))
            for key, view in (("1", "flame"), ("2", "functions"), ("3", "call-tree"), ("4", "processes"), ("5", "health")):
                terminal.press(key)
                if (width, height) in ((80, 24), (20, 5)) or key == "1":
                    golden(terminal, f"{view}-{width}x{height}")


def keys():
    with top(80, 24) as terminal:
        terminal.rows_when(has("all: 100.0 %"))
        terminal.press("Down", "Down")
        terminal.rows_when(has("work: 70.0 %, 700 ms"))
        terminal.press("Enter")
        terminal.rows_when(has("all › main › work"))
        terminal.press("s")
        golden(terminal, "callers-80x24")
        terminal.press("Escape")
        terminal.rows_when(lambda rows: not has("callers ↑")(rows))
        terminal.press("/")
        terminal.press("-l", "sys_.ead")
        terminal.press("Enter")
        terminal.rows_when(has("[/sys_.ead/ 30.0 %]"))
        terminal.press("Escape")
        terminal.press("?")
        golden(terminal, "help-80x24")
        terminal.press("q")  # back from the help
        terminal.rows_when(has("1 Flame graph"))
        terminal.press("q")
        wait_for(lambda: subprocess.run(["tmux", "-L", "test", "has-session"], env=terminal.environment, capture_output=True).returncode != 0, "it does not leave")


def mouse():
    def click(x, y, times=1):
        terminal.press("-l", times * f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")

    with top(80, 24) as terminal:
        terminal.rows_when(has("all: 100.0 %"))
        rows = terminal.rows()
        level = next(i for i, row in enumerate(rows) if "wait" in row and "work" in row)
        wait = rows[level].index("wait")
        click(wait, level)
        terminal.rows_when(has("wait: 30.0 %"))
        click(2, level, 2)
        terminal.rows_when(has("all › main › work"))
        terminal.press("Escape")
        terminal.press("-l", f"\x1b[<65;{wait};{level}M")  # the wheel
        terminal.rows_when(has("inner: "))
        click(rows[1].index("3 Call tree"), 1)
        terminal.rows_when(has("call tree  "))
        click(1, 2)
        terminal.press("-l", "\x1b[<32;41;7M\x1b[<0;41;7m")
        terminal.rows_when(has("[0.0 to 0.5 s]"))
        click(30, 2, 2)
        terminal.rows_when(lambda rows: not has(" s]")(rows))


def files_and_code():
    with top(80, 24) as terminal:
        terminal.rows_when(has("all: 100.0 %"))
        terminal.press("Down", "Down", "a")
        terminal.rows_when(has("  Source"))
        terminal.rows_when(lambda rows: has("golden")(rows) and not has("reading")(rows))
        terminal.press("Escape", "w", "Enter")
        rows = terminal.rows_when(has("written to "))
        name = next(row for row in rows if "written to " in row).split("written to ")[1].strip()
        with open(os.path.join(FOLDER, name)) as file:
            expect("<svg" in file.read(), f"{name} is a picture")


def without_colours_and_letters():
    with top(80, 24, TERM="vt100", LANG="C") as terminal:
        terminal.rows_when(has("all: 100.0 %"))
        golden(terminal, "flame-plain-80x24")


def sizes_that_change():
    with top(80, 24) as terminal:
        terminal.rows_when(has("all"))
        random.seed(1)
        for _ in range(60):
            terminal.resize(random.randint(2, 200), random.randint(2, 60))
        terminal.resize(80, 24)
        terminal.rows_when(lambda rows: len(rows) == 24 and any(row.rstrip().endswith("m mode") for row in rows))
        golden(terminal, "flame-80x24")


def names_of_strangers():
    folded = os.path.join(FOLDER, "strange.folded")
    with open(folded, "wb") as file:
        for name in ("日本語の関数", "e\u0301a\u0300o\u0302", "\x1b[2J\x1b]0;owned\x07", "\u202eright-to-left", "\u05d0\u05d1\u05d2", "N" * 100000, "tab\there", "\xff\xfe(bytes"):
            file.write(b"main;" + name.encode("utf-8", "surrogateescape") + b" 10\n")
    with top(80, 24, folded) as terminal:
        terminal.rows_when(has("all: 100.0 %"))
        for key in "12345":
            terminal.press(key)
            rows = settled(terminal)
            equal(len(rows), 24, "rows")
            expect(rows[0].lstrip().startswith("cicada"), f"the first row is {rows[0]!r}")
        terminal.press("2")
        terminal.rows_when(has("日本語の関数"))


run(views_of_every_size, keys, mouse, files_and_code, without_colours_and_letters, sizes_that_change, names_of_strangers)

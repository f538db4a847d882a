#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One grid in terminals of many kinds and sizes."""
import os
import re
import subprocess
import tempfile
import unicodedata

from terminal import Pty, Tmux, equal, expect, run

NAMES = ["wide[日本語]", "bar[▏█▁▂▃▄▅▆▇│…]", "marks[eao]", "esc[\ufffd[31m\ufffd]0;owned\ufffd]", "rtl[\ufffdab\ufffd\u05d0]", "bytes[\ufffd\ufffd(]"]
PLAIN = ["wide[??????]", "bar[|#_.-=+*#|~]", "marks[eao]", "esc[?[31m?]0;owned?]", "rtl[?ab??]", "bytes[??(]"]


def columns_of(text):
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def check(rows, width, height, names=NAMES, colours="colours"):
    equal(len(rows), height, "rows")
    left = [f"{width}x{height} ticks 0 {colours}", *names]
    for row, text in list(zip(rows, left))[:height - 1]:
        shown = text if len(text) < width else text[:width - 2] + "…"
        expect(row.startswith(shown), f"the row {row!r} does not begin with {shown!r}")
    for row in rows[:-1]:
        expect(columns_of(row) == width and row.endswith("<"), f"the row {row!r} does not end at column {width}")
    equal(rows[-1], "=" * width, "the last row")


def sizes():
    for width, height in ((80, 24), (120, 40), (200, 60), (20, 5), (3, 2), (2, 2)):
        with Tmux(width, height) as terminal:
            rows = terminal.rows_when(lambda rows: rows and set(rows[-1]) == {"="})
            if width >= 20:
                check(rows, width, height)


def without_utf8():
    for variables in ({"LANG": "C"}, {"LANG": None}, {"LANG": "C.UTF-8", "LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}):
        with Tmux(80, 24, **variables) as terminal:
            check(terminal.rows(), 80, 24, PLAIN)


def a_locale_that_is_not_installed():
    with Tmux(80, 24, LANG="xx_YY.utf8") as terminal:
        check(terminal.rows(), 80, 24)


def the_console():
    with Tmux(80, 24, TERM="linux") as terminal:
        check(terminal.rows(), 80, 24, [PLAIN[1] if name == NAMES[1] else name for name in NAMES])
    with Pty(TERM="linux") as terminal:
        expect(not re.search(rb"\?(1000|1006|2026)h", terminal.begin()), "it is asked for nothing that it does not know")


def without_colours():
    with Tmux(80, 24, TERM="vt100") as terminal:
        check(terminal.rows(), 80, 24, colours="plain")
        grounds = terminal.rows("-e")[7]
        expect("\x1b[7m" in grounds and not re.search(r"\x1b\[[0-9;]*[34][0-7]", grounds), f"grounds are in reverse: {grounds!r}")


def colours_of(sequences):
    """The grounds of a row of `capture-pane -e`, one for each letter."""
    out, ground = [], ""
    for sequence, text in re.findall(r"(\x1b\[[0-9;]*m)|([^\x1b])", sequences):
        if text:
            out.append(ground)
        elif found := re.search(r"48;5;(\d+)|48;2;(\d+;\d+;\d+)|[\[;](4[0-7])m", sequence):
            ground = next(group for group in found.groups() if group)
        elif re.search(r"\[(0|49)?m|;49m", sequence):
            ground = ""
    return out


def colours():
    with Tmux(80, 24) as terminal:
        grounds = colours_of(terminal.rows("-e")[7])
        equal(grounds[8], "215", "#ffb067 of 256 colours")
        equal(grounds[36], "188", "#d5d5d5 of 256 colours")
        expect(all(ground and int(ground) >= 16 for ground in grounds[:40]) and not grounds[50], f"grounds {grounds}")
    with Tmux(80, 24, TERM="screen") as terminal:
        grounds = colours_of(terminal.rows("-e")[7])
        equal([grounds[at] for at in (8, 12, 20, 28, 36)], ["41", "43", "42", "44", "47"], "hues of 8 colours")


def direct_colours():
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "source")
        channels = "%p1%{65536}%/%d;%p1%{256}%/%{255}%&%d;%p1%{255}%&%dm"
        with open(source, "w") as file:
            for pairs in (65536, 64, 8):
                file.write(f"cicada-{pairs}|of a test,\n\tRGB, colors#0x1000000, pairs#{pairs},\n\tsetaf=\\E[38;2;{channels}, setab=\\E[48;2;{channels},\n\tuse=xterm-256color,\n")
        subprocess.run(["tic", "-x", "-o", directory, source], check=True)
        os.chmod(directory, 0o755)
        native = lambda change: [b"48;2;%d;%d;%d" % (red, green, blue ^ change) for red, green, blue in ((255, 176, 103), (255, 164, 87), (255, 188, 125), (251, 154, 75))]
        for pairs in (65536, 64):  # of 64 all have to be used again
            with Pty(80, 24, TERM=f"cicada-{pairs}", TERMINFO=directory) as terminal:
                first = terminal.begin()
                expect(all(colour in first for colour in native(0) + [b"38;2;208;48;48"]), f"{pairs} pairs: the colours are not in {first!r}")
                for change in range(1, 6):
                    terminal.seen = b""
                    terminal.inputs_after("c")
                    terminal.output()
                    expect(all(colour in terminal.seen for colour in native(change)), f"{pairs} pairs, colours {change}: {terminal.seen!r}")
                    expect(not any(colour in terminal.seen for colour in native(change - 1)), f"{pairs} pairs: old colours in {terminal.seen!r}")
        with Pty(80, 24, TERM="cicada-8", TERMINFO=directory) as terminal:
            expect(b"\x1b[7m" in terminal.begin() or b";7m" in terminal.seen, "what has no pair is in reverse")


def a_storm_of_resizes():
    with Tmux(80, 24) as terminal:
        for i in range(40):
            terminal.resize(30 + (37 * i) % 150, 5 + (11 * i) % 50)
        for width, height in ((47, 13), (20, 5), (200, 60), (80, 24)):
            terminal.resize(width, height)
            # Nothing is pressed.
            rows = terminal.rows_when(lambda rows: rows[0].startswith(f"{width}x{height} ") and rows[-1] == "=" * width)
            check(rows, width, height)


def sizes_that_terminals_claim():
    for width, height in ((65535, 65535), (1, 1), (2, 1)):
        with Pty(width, height) as terminal:
            terminal.begin()
            terminal.inputs_after("t")
            terminal.send("q")
            equal(terminal.end(), 0, f"exit code of {width} x {height}")
    with Pty(0, 0) as terminal:
        expect(b"80x24" in terminal.begin(), "who does not know has 80 x 24")


run(sizes, without_utf8, a_locale_that_is_not_installed, the_console, without_colours, colours, direct_colours, a_storm_of_resizes, sizes_that_terminals_claim)

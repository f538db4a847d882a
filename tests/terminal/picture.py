#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""picture.py [--light] <SCREEN >PICTURE.svg: a picture of what `tmux capture-pane -e -p` prints. For people; `rsvg-convert PICTURE.svg >PICTURE.png`."""
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

WIDTH, HEIGHT, SIZE = 8.4, 18, 14  # of a letter, in pixels
SIXTEEN = ("#1d1f21 #cc342b #198844 #c5a332 #3971ed #a36ac7 #3bb5bd #c5c8c6 #6b6f73 #e5534b #2fb35a #e6c547 #6f98f5 #c08ce0 #5fd3da #ffffff").split()


def of_256(number):
    if number < 16:
        return SIXTEEN[number]
    if number >= 232:
        return "#" + 3 * f"{8 + 10 * (number - 232):02x}"
    levels = (0, 95, 135, 175, 215, 255)
    return "#" + "".join(f"{levels[(number - 16) // base % 6]:02x}" for base in (36, 6, 1))


class Style:
    def __init__(self):
        self.ink = self.ground = None
        self.on = set()

    def take(self, words):
        """The numbers of one `ESC [ … m`."""
        numbers = [int(word or 0) for word in re.split("[;:]", words)]
        while numbers:
            number = numbers.pop(0)
            if number == 0:
                self.__init__()
            elif number in (1, 2, 4, 7):
                self.on.add(number)
            elif number in (22, 24, 27):
                self.on -= {22: {1, 2}, 24: {4}, 27: {7}}[number]
            elif number in (38, 48):
                if numbers.pop(0) == 5:
                    colour = of_256(numbers.pop(0))
                else:
                    colour = "#" + "".join(f"{numbers.pop(0):02x}" for _ in range(3))
                self.ink, self.ground = (colour, self.ground) if number == 38 else (self.ink, colour)
            elif 30 <= number <= 37 or 90 <= number <= 97 or number == 39:
                self.ink = None if number == 39 else SIXTEEN[number - 30 if number < 40 else number - 82]
            elif 40 <= number <= 47 or 100 <= number <= 107 or number == 49:
                self.ground = None if number == 49 else SIXTEEN[number - 40 if number < 50 else number - 92]


def main():
    ink, ground = ("#24292f", "#ffffff") if "--light" in sys.argv else ("#c5c8c6", "#1d1f21")
    rows = sys.stdin.read().splitlines()
    style, out, widest = Style(), [], 1
    for y, row in enumerate(rows):
        x = 0
        for words, letter in re.findall(r"\x1b\[([0-9;:]*)m|([^\x1b])", row):
            if not letter:
                style.take(words)
                continue
            columns = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
            front, back = style.ink or ink, style.ground
            if 7 in style.on:
                front, back = back or ground, front
            if back:
                out.append(f'<rect x="{x * WIDTH:.1f}" y="{y * HEIGHT}" width="{columns * WIDTH + 0.3:.1f}" height="{HEIGHT}" fill="{back}"/>')
            if letter != " ":
                more = ' font-weight="bold"' * (1 in style.on) + ' opacity="0.6"' * (2 in style.on) + ' text-decoration="underline"' * (4 in style.on)
                out.append(f'<text x="{x * WIDTH:.1f}" y="{y * HEIGHT + 13.5}" fill="{front}"{more}>{escape(letter)}</text>')
            x += columns
        widest = max(widest, x)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{widest * WIDTH:.0f}" height="{len(rows) * HEIGHT}" font-family="monospace" font-size="{SIZE}">'
          f'<rect width="100%" height="100%" fill="{ground}"/>{"".join(out)}</svg>')


main()

# SPDX-License-Identifier: Apache-2.0
"""What a person must see of a red test's output."""
import re

TELLING = re.compile(r"FAILED|WRONG|^ *e\.g\. |\bseed\b|(?<!_)[Ee]rror\b|: Failure$|Expected|Actual|Which is|assert|Assert|Sanitizer|[Tt]imed? ?out|not found")
MOST, WIDTH = 10, 200


def essence(lines):
    """The telling lines and what stands around the last of them, MOST of them at most, each cut to WIDTH characters."""
    lines = [line.rstrip() for line in lines if line.strip()]
    telling = [i for i, line in enumerate(lines) if TELLING.search(line)]
    chosen = set(telling[:1] + telling[-(MOST - 3):])
    for i in range(len(lines) - 1, -1, -1):
        if len(chosen) >= min(MOST, len(lines)):
            break
        chosen.add(i)
    return ["  " + (lines[i] if len(lines[i]) <= WIDTH else lines[i][: WIDTH - 1] + "…") for i in sorted(chosen)]

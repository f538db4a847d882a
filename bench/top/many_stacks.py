#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# many_stacks.py N: N different folded stacks of a made-up program, the same each time.
import random, sys

random.seed(1)
seen = set()
while len(seen) < int(sys.argv[1]):
    depth, at, names = random.randint(5, 40), 0, []
    for level in range(depth):
        at = (at * 7 + int(random.paretovariate(1.1))) % 5000
        names.append(f"module_{at % 17}::function_{at}")
    stack = ";".join(["main"] + names)
    if stack not in seen:
        seen.add(stack)
        print(stack, int(random.paretovariate(1)))

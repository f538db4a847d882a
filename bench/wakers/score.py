#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: score.py waits FOLDED TRUTH LABEL | wakes FOLDED TRUTH | chain FOLDED TRUTH: "LABEL<tab>NAME<tab>ERROR %" a line
score.py table ERRORS: of these the root mean square and the largest, by name."""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "live"))
import waits  # noqa: E402
import wakes  # noqa: E402


def error(found, low, high):
    """In percent of what it is outside of."""
    return 100 * ((found - high) / high if found > high else (found - low) / low if found < low else 0)


def main():
    if sys.argv[1] == "table":
        errors = collections.defaultdict(list)
        for line in open(sys.argv[2]):
            label, name, value = line.rstrip("\n").split("\t")
            errors[label, name].append(float(value))
        print(f"{'error of sums, %':48} {'root mean square':>17} {'largest':>8} {'rounds':>7}")
        for (label, name), values in sorted(errors.items()):
            print(f"{label + ': ' + name:48} {(sum(v * v for v in values) / len(values)) ** 0.5:17.2f} {max(values, key=abs):8.2f} {len(values):7}")
        return
    folded, truth = open(sys.argv[2]), open(sys.argv[3])
    if sys.argv[1] == "waits":
        said = waits.read_truth(truth)
        found, _ = waits.read_waits(folded, said)
        for name, ns in said.items():
            print(f"waits, {sys.argv[4]}\t{name}\t{error(sum(value for (thread, _), value in found.items() if thread == name), ns, ns):.3f}")
    elif sys.argv[1] == "wakes":
        _, said = wakes.read_truth(truth)
        found = wakes.read_wakeups(folded)[0]
        for (waker, state), one in said.items():
            print(f"wakers\t{waker} ({state})\t{error(found[waker, state], one.least, one.most):.3f}")
    else:
        said = {tuple(words[1:4]): int(words[4]) for words in map(str.split, truth) if words[0] == "woken"}
        waited, slept = said["asks", "io", "answers"], said["answers", "sleep", "interrupts"]
        chain = re.compile(r"^asks .*\[woken by answers of wakes\].*;answers;.*\[woken by supplies of wakes\].*;supplies;.*\[woken by begins of wakes\].*;begins;.*\[woken by interrupts\]")
        found = sum(int(line.rsplit(" ", 1)[1]) for line in folded if chain.search(line))
        print(f"chain\tbehind three wakers\t{error(found, waited - slept, waited - slept):.3f}")


if __name__ == "__main__":
    main()

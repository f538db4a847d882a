# SPDX-License-Identifier: Apache-2.0
"""What ./dev test says at its end.

usage: results.py read JUNIT.xml PREFIX LOGS BUILD     ctest's results as lines STATUS NAME REASON (tab-separated; STATUS is pass, fail or skip), and of each red
                                                      test LOGS/NAME: its whole output, LOGS/NAME.why: what a person must see of it
       results.py repeated WITNESS                    a line a test that ran twice, as house.py witnessed it, and how many
"""
import os
import re
import sys
import xml.etree.ElementTree

import explain

REASON = re.compile(r"(?:SKIP|skipped): (.*)")
INNER = re.compile(r"\[  SKIPPED \] ([\w/]+\.[\w/]+) \(")


def command_for(name, prefix, build):
    """Runs that test alone."""
    pattern = "'^" + name.replace(".", "\\.") + "$'"
    return f"sudo ./dev test --strict {pattern}" if not prefix else f"sudo ctest --test-dir {build} --output-on-failure -R {pattern}"


def read(junit, prefix, logs, build):
    rows = []
    for case in xml.etree.ElementTree.parse(junit).iter("testcase"):
        name, output = case.get("name"), (case.findtext("system-out") or "").splitlines()
        reasons = [match[1] for line in output if (match := REASON.match(line))]
        if case.get("status") == "fail":
            rows.append(("fail", prefix + name, ""))
            path = os.path.join(logs, prefix + name)
            with open(path, "w", encoding="utf-8") as log:
                print("\n".join(output), file=log)
            housed = any(line.startswith("log: ") for line in output)
            failure = case.find("failure")
            message = (failure.get("message") or "") if failure is not None else ""
            with open(path + ".why", "w", encoding="utf-8") as why:
                print(f"{prefix}{name}  {message}", file=why)
                print("\n".join(output[-14:] if housed else explain.essence(output)), file=why)
                print(f"  {'' if housed else f'log: {path}   '}alone: {command_for(name, prefix, build)}", file=why)
        elif case.get("status") == "notrun" or case.find("skipped") is not None:
            rows.append(("skip", prefix + name, reasons[-1] if reasons else "not run"))
        else:
            rows.append(("pass", prefix + name, ""))
            # A GoogleTest that skipped itself inside a binary that passed counts as skipped, too; the line before says why.
            for before, line in zip(["", *output], output):
                if match := INNER.match(line):
                    rows.append(("skip", f"{prefix}{name}:{match[1]}", before))
    for row in rows:
        print(*(field.replace("\t", " ") for field in row), sep="\t")


def repeated(witness):
    count = 0
    for line in open(witness, encoding="utf-8"):
        name, result, attempts, _, _, others, stolen = line.rstrip("\n").split("\t")
        if int(attempts) > 1:
            count += 1
            print(f"  {name}: red while others used {float(others):.0f} % of the machine's CPU time and {float(stolen):.0f} % was stolen; the second time: {result}")
    print(f"{count} repeated")


if __name__ == "__main__":
    {"read": read, "repeated": repeated}[sys.argv[1]](*sys.argv[2:])

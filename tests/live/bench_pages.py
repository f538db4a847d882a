# SPDX-License-Identifier: Apache-2.0
"""Checks what `cicada bench` wrote against what the benchmarks are called.

bench_pages.py DIR COUNT [NAME-REGEX]
Each benchmark bench.c::work_NNN spins in the function work_NNN: its flame graph has that name and no other work_NNN, its stacks are whole and
most of its samples are in it. NAME-REGEX: what the URI shows of the name, where it is none of these.
"""
import base64
import gzip
import json
import re
import struct
import sys

LEAST_SAMPLES = 1


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value


def read_page(path):
    """Names of the page's nodes, and for each sample the names of its stack."""
    text = open(path, encoding="utf-8").read()
    page = json.loads(re.search(r'id="profile">(.*?)</script>', text, re.S).group(1))
    raw = gzip.decompress(base64.b64decode(page["payload"]))
    size = struct.unpack("<I", raw[:4])[0]
    tables = json.loads(raw[4 : 4 + size])
    frames = [tables["frames"][i : i + 4] for i in range(0, len(tables["frames"]), 4)]
    columns = Bytes(raw[4 + size :])
    parents, names = [], []
    for node in range(columns.number()):
        parents.append(node - columns.number())
        names.append(tables["names"][frames[columns.number()][0]])
    stacks = []
    for _ in range(columns.number()):
        columns.number(), columns.number()
        node = columns.number()
        columns.number(), columns.number()
        stack = []
        while node != 0:
            stack.append(names[node])
            node = parents[node]
        stacks.append(stack)
    return set(names), stacks


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    result = json.load(open(f"{folder}/bench.json", encoding="utf-8"))
    faults = []
    benchmarks = result["benchmarks"]
    if len(benchmarks) != count:
        faults.append(f"{len(benchmarks)} benchmarks, not {count}")
    for one in benchmarks:
        own = one["uri"].rsplit("::")[-1]
        names, stacks = read_page(f"{folder}/{one['flame_graph']}")
        strangers = {name for name in names if re.fullmatch(r"work_\d+", name)} - {own}
        inside = sum(own in stack for stack in stacks)
        run = one["runs"][0]
        if own not in names:
            faults.append(f"{own}: no such function in its flame graph: {sorted(names)[:8]}")
        if strangers:
            faults.append(f"{own}: samples of {sorted(strangers)}")
        if any(re.search(r"\+0x[0-9a-f]+$", name) for name in names):
            faults.append(f"{own}: functions without a name: {sorted(names)}")
        if len(stacks) != run["samples"] or len(stacks) < LEAST_SAMPLES:
            faults.append(f"{own}: {len(stacks)} samples in its flame graph, {run['samples']} in bench.json")
        if 2 * inside < len(stacks):
            faults.append(f"{own}: {inside} of {len(stacks)} samples are in it")
        if run["whole_stacks"] != run["user_stacks"]:
            faults.append(f"{own}: {run['whole_stacks']} of {run['user_stacks']} stacks are whole")
        if run["ambiguous"]:
            faults.append(f"{own}: ambiguous")
    for fault in faults:
        print(fault)
    print(f"{len(benchmarks)} benchmarks, {sum(len(read_page(folder + '/' + b['flame_graph'])[1]) for b in benchmarks)} samples, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()

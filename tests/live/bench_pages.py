# SPDX-License-Identifier: Apache-2.0
"""Checks what `cicada bench` wrote against what the benchmarks are called.

bench_pages.py DIR COUNT
Each benchmark bench.c::work_NNN spins in the function work_NNN: its flame graph has that name and no other work_NNN, stacks are whole and
most samples are in such functions. Not judged are stacks whose page the kernel has in its hands: while it copies a page after a fork, it is
mapped nowhere until all CPUs know.
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
    directory, count = sys.argv[1], int(sys.argv[2])
    result = json.load(open(f"{directory}/bench.json", encoding="utf-8"))
    faults = []
    benchmarks, total_inside, whole, stacks_of_users, held, shown = result["benchmarks"], 0, 0, 0, 0, 0
    if len(benchmarks) != count:
        faults.append(f"{len(benchmarks)} benchmarks, not {count}")
    for one in benchmarks:
        own = one["uri"].rsplit("::")[-1]
        names, stacks = read_page(f"{directory}/{one['flame_graph']}")
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
        shown += len(stacks)
        total_inside += inside
        held += sum("ptep_clear_flush" in stack and "[incomplete: unreadable stack memory]" in stack for stack in stacks)
        whole += run["whole_stacks"]
        stacks_of_users += run["user_stacks"]
        if run["ambiguous"]:
            faults.append(f"{own}: ambiguous")
    total = sum(one["runs"][0]["samples"] for one in benchmarks)
    if whole < 0.999 * (stacks_of_users - held) - 1:  # children are programs of 20 ms, sampled while they are started
        faults.append(f"{whole} of {stacks_of_users - held} stacks are whole")
    if 0.8 * total > total_inside:  # the rest: programs that are being started
        faults.append(f"{total_inside} of {total} samples are in the benchmarks' own functions")
    for fault in faults:
        print(fault)
    print(f"{len(benchmarks)} benchmarks, {shown} samples, {held} of them while the kernel copied the stack, {len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

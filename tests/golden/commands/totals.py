#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# usage: totals.py FILE…    One line a file: its total in samples, read as the format's own readers read it, and its outermost frames
# with their totals. Fails if the children of a node are together more than the node, or if totals inside one file disagree.
import base64, collections, gzip, html.parser, json, re, struct, sys, xml.etree.ElementTree


def check(truth, *message):
    if not truth:
        sys.exit("FAILED: " + " ".join(map(str, message)))


def of_tree(parent, self_values):
    """Totals from self values; parents stand before children."""
    total = list(self_values)
    for i in range(len(total) - 1, 0, -1):
        total[parent[i]] += total[i]
    return total


def folded(text):
    roots = collections.Counter()
    for line in filter(None, text.decode("utf-8").split("\n")):
        stack, count = line.rsplit(" ", 1)
        roots[stack.split(";")[0]] += int(count)
    return sum(roots.values()), roots


def d3(data):
    root = json.loads(data)
    pending, own = [root], 0
    while pending:
        node = pending.pop()
        below = sum(child["value"] for child in node["children"])
        check(below + node.get("self", 0) == node["value"], "d3: children of", node["name"][:50])
        own += node.get("self", 0)
        pending += node["children"]
    check(own == root["value"], "d3: self adds up to", own)
    return root["value"], {c["name"]: c["value"] for c in root["children"]}


def codeguru(data):
    root = json.loads(data)["callgraph"]
    def own(node):
        return sum(v for k, v in node.get("counts", {}).items() if k != "IDLE")
    def total(node):
        done, pending = 0, [node]
        while pending:
            at = pending.pop()
            done += own(at)
            pending += at.get("children", {}).values()
        return done
    return total(root), {name: total(node) for name, node in root.get("children", {}).items()}


def speedscope(data, period):
    file, roots, total = json.loads(data), collections.Counter(), 0
    for profile in file["profiles"]:
        check(len(profile["samples"]) == len(profile["weights"]), "speedscope: columns of", profile["name"])
        check(profile["endValue"] == sum(profile["weights"]), "speedscope: endValue of", profile["name"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            check(weight % period == 0, "speedscope: a weight of", weight)
            roots[file["shared"]["frames"][stack[0]]["name"]] += weight // period
    return sum(roots.values()), roots


def firefox(data):
    file, roots = json.loads(gzip.decompress(data)), collections.Counter()
    for thread in file["threads"]:
        samples, stacks = thread["samples"], thread["stackTable"]
        check(len(samples["stack"]) == len(samples["weight"]) == len(samples["time"]) == samples["length"], "firefox: columns")
        check(all(p is None or p < i for i, p in enumerate(stacks["prefix"])), "firefox: a parent after its child")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            name = "[no stack]"
            if stack is not None:
                while stacks["prefix"][stack] is not None:
                    stack = stacks["prefix"][stack]
                strings = thread.get("stringArray") or file["shared"]["stringArray"]
                name = strings[thread["funcTable"]["name"][thread["frameTable"]["func"][stacks["frame"][stack]]]]
            roots[name] += weight
    return sum(roots.values()), roots


def varints(data, at=0, end=None):
    end = len(data) if end is None else end
    while at < end:
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = next(varints(data, at))
        if key & 7 == 0:
            value, at = next(varints(data, at))
        else:
            check(key & 7 == 2, "pprof: wire type", key & 7)
            size, at = next(varints(data, at))
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(value):
    return [value] if isinstance(value, int) else [v for v, _ in varints(value)]


def pprof(data):
    samples, functions, locations, strings = [], {}, {}, []
    for field, value in fields(gzip.decompress(data)):
        if field == 2:
            samples.append(value)
        elif field == 4:
            parts = list(fields(value))
            lines = [dict(fields(line)) for f, line in parts if f == 4]
            locations[dict((f, v) for f, v in parts if f == 1)[1]] = lines[-1][1]
        elif field == 5:
            part = dict(fields(value))
            functions[part[1]] = part.get(2, 0)
        elif field == 6:
            strings.append(value.decode("utf-8"))
    roots = collections.Counter()
    for sample in samples:
        ids, values = [], []
        for field, value in fields(sample):
            if field == 1:
                ids += numbers(value)
            elif field == 2:
                values += numbers(value)
        roots[strings[functions[locations[ids[-1]]]]] += values[0]
    return sum(roots.values()), roots


class Script(html.parser.HTMLParser):
    inside, text = False, ""
    def handle_starttag(self, tag, attributes):
        self.inside = dict(attributes).get("id") == "profile"
    def handle_endtag(self, tag):
        self.inside = False
    def handle_data(self, data):
        if self.inside:
            self.text += data


def svg(text):
    for element in xml.etree.ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}script"):
        if element.get("id") == "profile":
            return packed(element.text)


def report(text):
    parser = Script()
    parser.feed(text.decode("utf-8"))
    return packed(parser.text)


def packed(text):
    """What a page holds for its script; in a picture narrow frames are left out, and their values stand with who called them."""
    raw = gzip.decompress(base64.b64decode(json.loads(text)["payload"]))
    size = struct.unpack("<I", raw[:4])[0]
    tables = json.loads(raw[4:4 + size])
    number = (value for value, _ in varints(raw, 4 + size))
    nodes = next(number)
    parent, frame = [0] * nodes, [0] * nodes
    for i in range(nodes):
        parent[i], frame[i] = i - next(number), next(number)
    own, samples = [0] * nodes, next(number)
    for i, (own_value, left_out) in enumerate(zip(number, number) if not samples else ()):
        own[i] = own_value + left_out
    for _ in range(samples):
        next(number)
        check(next(number) < len(tables["threads"]), "html: a thread")
        node, value = next(number), next(number)
        next(number)
        own[node] += value
    total, roots = of_tree(parent, own), {}
    for i in range(1, nodes):
        if parent[i] == 0:
            name = tables["names"][tables["frames"][4 * frame[i]]]
            roots[name] = roots.get(name, 0) + total[i]
    return total[0], roots


def frame_name(line):
    """Of "<tab> address name (image)"; both may have parentheses, balanced ones in the image."""
    check(line.endswith(")") and re.match(r"^\t *[0-9a-f]+ ", line), "txt:", line[:80])
    depth, at = 0, len(line)
    while at == len(line) or depth:
        at -= 1
        depth += {")": 1, "(": -1}.get(line[at], 0)
    return line[:at - 1].lstrip("\t ").split(" ", 1)[1]


def text_samples(text, period):
    roots, last, value = collections.Counter(), "[no stack]", 0
    for line in text.decode("utf-8").split("\n"):
        head = re.match(r"^\S.* \d+/-?\d+ \[\d+\] [\d.]+: (\d+) [^ ]+:", line)
        if head and not line.startswith("\t"):
            value = int(head[1]) // period
            last = "[no stack]"
        elif line.startswith("\t"):
            last = frame_name(line)
        elif line == "" and value:
            roots[last] += value
            value = 0
    return sum(roots.values()), roots


def recording(path):  # as report --json says it
    file = json.loads(open(path, "rb").read())
    parent = [node.get("parent", 0) for node in file["tree"]]
    total = of_tree(parent, [node["self"] for node in file["tree"]])
    check(total == [node["total"] for node in file["tree"]], "report --json: totals")
    roots = {}
    for i, node in enumerate(file["tree"]):
        if i and node["parent"] == 0:
            roots[node["name"]] = roots.get(node["name"], 0) + node["total"]
    return file["total"], roots


def read(path, period):
    data = open(path, "rb").read()
    for extension, reader in ((".report.json", lambda _: recording(path)), (".speedscope.json", lambda d: speedscope(d, period)), (".firefox.json.gz", firefox),
                              (".codeguru.json", codeguru), (".json", d3), (".folded", folded), (".pb.gz", pprof), (".pprof", pprof), (".svg", svg),
                              (".html", report), (".txt", lambda d: text_samples(d, period))):
        if path.endswith(extension):
            return reader(data)
    sys.exit("unknown: " + path)


if __name__ == "__main__":
    sys.setrecursionlimit(100000)  # .json and .codeguru.json nest as deep as the stacks
    period = int(sys.argv[1])
    for path in sys.argv[2:]:
        total, roots = read(path, period)
        check(total == sum(roots.values()) + 0 or path.endswith((".svg", ".html", ".json")), path, "roots add up to", sum(roots.values()), "of", total)
        print(path, total, json.dumps(sorted(((name[:80], value) for name, value in roots.items()), key=lambda r: (-r[1], r[0]))[:50]))

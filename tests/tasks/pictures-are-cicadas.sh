#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pictures in README and docs are small, well-formed, made by cicada, and what the documents show.
source "$(dirname "$0")/lib.sh"
python3 - "$LIVE/../.." <<'PY' || fail "make them anew: ./dev pictures"
import pathlib, re, sys, xml.dom.minidom
root = pathlib.Path(sys.argv[1])
pictures = root / "docs/pictures"
svg = (pictures / "flame.svg").read_text()
xml.dom.minidom.parseString(svg)
assert len(svg.encode()) < 60000 and 'id="frames"' in svg and "count_words" in svg, len(svg)
shown = 0
for document in [root / "README.md", *root.glob("docs/*.md")]:
    text = document.read_text()
    for name, block in re.findall(r"^<!-- pictures: (\w+) -->\n(.*?)^<!-- end -->$", text, re.S | re.M):
        assert block == "```console\n" + (pictures / f"{name}.txt").read_text() + "```\n", (document, name)
        shown += 1
    for link in re.findall(r"\]\(([^)#:]+)\)", text): assert (document.parent / link).exists(), (document, link)
assert shown == 2 and "docs/pictures/flame.svg" in (root / "README.md").read_text()
PY

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Help of every command fits 80 columns, and every option with a value says its default.
source "$(dirname "$0")/lib.sh"
python3 - "$CICADA" <<'PY' || fail "see above"
import re, subprocess, sys
bad, seen = [], 0
def look(words):
    global seen
    text = subprocess.run([sys.argv[1], *words, "--help"], check=True, capture_output=True, text=True).stdout
    name = " ".join(["cicada", *words])
    bad.extend(f"{name}: {len(line)} columns: {line}" for line in text.splitlines() if len(line) > 80)
    for block in re.split(r"\n(?=  -|\S|\n)", text):
        option = re.match(r"  (-[^\s,]+(?:, -[^\s,]+)*) ([^\s-]\S*)(?: |\n)", block)
        if not option: continue
        seen += 1
        if not re.search(r"\((default: .+|required)\)", " ".join(block.split())): bad.append(f"{name}: {option[1]} has no default: {block}")
    commands = re.search(r"\nCommands:\n(.*?)\n\n", text + "\n\n", re.S)
    for command in re.findall(r"^  (\w+) ", commands[1] if commands else "", re.M): look([*words, command])
look([])
print(*bad, sep="\n")
exit(bool(bad) or seen < 40)
PY

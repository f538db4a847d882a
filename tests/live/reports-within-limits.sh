#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# report --min-percent, --max-depth and -n cut the tree and the table where they say; debug rows and blocks tell what readelf and /proc tell.
source "$(dirname "$0")/lib.sh"
printf 'main;big 90\nmain;small 6\nmain;big;deep;deeper 4\n' >x.folded
names() { "$CICADA" report "$@" x.folded >out 2>err || fail "report $* ended with $?"; }
tree() { awk '/^ *total +self$/ { tree = 1 } tree' out; }
names
grep -q deeper <(tree) || fail "the whole tree has no deeper: $(<out)"
names --min-percent 5
grep -q small <(tree) || fail "--min-percent 5 leaves 6 % out"
grep -q deeper <(tree) && fail "--min-percent 5 shows 4 %"
names --min-percent 7
grep -q small <(tree) && fail "--min-percent 7 shows 6 %"
names --min-percent 0 --max-depth 3
grep -q ' deep$' <(tree) || fail "--max-depth 3 leaves the third out: $(tree)"
grep -q deeper <(tree) && fail "--max-depth 3 shows the fourth"
names -n 1
[[ $(sed '/total  *self$/,$d' out | grep -cE '^ +[0-9.]+ %') == 1 ]] || fail "-n 1 shows more: $(<out)"
expect_error 125 "--min-percent" "$CICADA" report --min-percent 101 x.folded

# Rows: at the first byte of a function the caller's stack begins eight bytes above the stack pointer.
program=$WORKLOADS/chain_gcc_O2_nopie
"$CICADA" debug rows "$program" >rows || fail "debug rows ended with $?"
first=$(nm "$program" | awk '$3 == "first" { print $1 }')
row=$(awk -v at="0x${first: -10}" '$1 <= at { row = $2 } END { print row }' rows)
[[ $row == cfa=rsp+8 ]] || fail "debug rows says $row where first() begins, at $first"
"$CICADA" debug rows --stats "$program" | grep '[0-9]' >/dev/null || fail "debug rows --stats"
"$CICADA" debug rows --unsupported /usr/bin/env >out || fail "debug rows --unsupported ended with $?"
expect_error 125 "no-such-file" "$CICADA" debug rows no-such-file

start_workload "$program"
"$CICADA" debug blocks "$pid" >blocks || fail "debug blocks ended with $?"
python3 - "$pid" <<'PY' || fail "debug blocks does not cover what is mapped"
import re, sys
maps = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in open(f"/proc/{sys.argv[1]}/maps") if "x" in line.split()[1]]
maps = [m for m in maps if m[0] < 1 << 63]  # not [vsyscall]
blocks = []
for line in open("blocks"):
    if match := re.match(r"([0-9a-f]{16})/(\d+) +([0-9a-f]+)-([0-9a-f]+) ", line):
        blocks.append((int(match[1], 16), int(match[2]), int(match[3], 16), int(match[4], 16)))
def find(address):  # the longest matching block, whose mapping must contain the address
    fits = [b for b in blocks if address >> (64 - b[1]) == b[0] >> (64 - b[1])]
    best = max(fits, key=lambda b: b[1], default=None)
    return best and (best[2], best[3])
wrong = [hex(a) for m in maps for a in (m[0], (m[0] + m[1]) // 2, m[1] - 1) if find(a) != m]
print(f"{len(maps)} mappings, {len(blocks)} blocks, wrong: {wrong}")
sys.exit(bool(wrong) or len(maps) < 3)
PY
expect_error 125 "4194303" "$CICADA" debug blocks 4194303

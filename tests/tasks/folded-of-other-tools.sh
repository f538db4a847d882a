#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Folded stacks as other tools write them: comments, blank lines, CRLF, decimals, two columns; a negative number is refused with the way out. And a
# heap profile's unit stands in every column.
source "$(dirname "$0")/lib.sh"
samples() { code 0 "$CICADA" convert -q "$1" "$2"; awk '{ s += $NF } END { print s + 0 }' "$2"; }
printf '# written by hand\n\r\nmain;a 70\r\n   \nmain;b\t20 \nmain;c 10\n' >odd.folded
[[ $(samples odd.folded plain.folded) == 100 ]] || fail "comments, blanks, CRLF: $(<plain.folded)"
has plain.folded '^main;b 20$'
printf 'main;a 0.4\nmain;b 0.4\nmain;c 2.2\nmain;d 5.\nmain;e 1\n' >decimal.folded
[[ $(samples decimal.folded plain.folded) == 9 ]] || fail "decimals: $(<plain.folded)"
code 0 "$CICADA" report decimal.folded
has out.txt 'decimals were rounded'
printf 'main;a 70 10\nmain;b 30 90\n' >two.folded
[[ $(samples two.folded plain.folded) == 100 ]] || fail "two columns: $(<plain.folded)"
has plain.folded '^main;b 90$'
printf 'worker 3 70\nmain;b 30\n' >name.folded  # a name that ends with a number is a name
[[ $(samples name.folded plain.folded) == 100 ]] || fail "a name with a number: $(<plain.folded)"
has plain.folded '^worker 3 70$'
printf 'main;a -7\n' >negative.folded
code 125 "$CICADA" report negative.folded
has err.txt 'line 1: a negative number .*cicada diff'
python3 - <<'PY'
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def number(field, n): return varint(field << 3) + varint(n)
def message(field, data): return varint(field << 3 | 2) + varint(len(data)) + data
strings = ["", "inuse_objects", "count", "inuse_space", "kilobytes", "main", "allocate"]
out = message(1, number(1, 1) + number(2, 2)) + message(1, number(1, 3) + number(2, 4))
for leaf, objects, size in ((1, 5, 30), (2, 7, 10)):
    out += message(2, message(1, varint(leaf)) + message(2, varint(objects) + varint(size)))
for i in (1, 2):
    out += message(4, number(1, i) + message(4, number(1, i))) + message(5, number(1, i) + number(2, 4 + i))
out += b"".join(message(6, s.encode()) for s in strings)
open("heap.pb.gz", "wb").write(out)
PY
code 0 "$CICADA" report heap.pb.gz --by process
has out.txt '^ +self +total +bytes +function'
has out.txt '75\.0 % .*30,720  main'
has out.txt '^ +share +bytes'
lacks out.txt '^ +share +samples'
code 0 "$CICADA" convert -q heap.pb.gz heap.html heap.svg heap.speedscope.json
has heap.svg '"unit":"bytes"'
has heap.speedscope.json '"unit": ?"bytes"'

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Functions and events whose names hold escape sequences, C1 controls and bidirectional overrides: none of them reaches an output.
source "$(dirname "$0")/lib.sh"
python3 - <<'PYTHON'
import gzip
evil = b'evil\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xc2\x9b31m\x1b[31m'
open('in.folded', 'wb').write(b'main;' + evil.replace(b'\x1b', b'%1B') + b' 5\n')
def number(n):
    out = b''
    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def text(tag, b): return number(tag << 3 | 2) + number(len(b)) + b
def value(tag, n): return number(tag << 3) + number(n)
p = text(1, value(1, 1) + value(2, 2)) + text(2, text(1, b'\x01') + text(2, b'\x05')) + text(4, value(1, 1) + text(4, value(1, 1))) + text(5, value(1, 1) + value(2, 3))
for s in (b'', evil, b'count', b'f' + evil): p += text(6, s)
open('in.pb.gz', 'wb').write(gzip.compress(p))
PYTHON
for input in in.folded in.pb.gz; do
  rm -f x.cicada
  for output in x.folded x.txt x.svg x.speedscope.json x.firefox.json x.codeguru.json x.pprof x.cicada; do
    bounded 600 10 "$CICADA" convert -q "$input" "$output" || fail "convert $input $output ended with $?"
    [[ $output == x.cicada ]] && continue
    python3 - "$output" <<'PYTHON' || fail "$input: $output holds a control character"
import gzip, re, sys
text = open(sys.argv[1], 'rb').read()
if text[:2] == b'\x1f\x8b': text = gzip.decompress(text)
bad = re.search(rb'\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|\xc2[\x80-\x9f]|\x1b\[|(?i:\\u(202[a-e]|206[6-9]|061c|009b|001b))', text)
if bad: print(sys.argv[1], bad, text[max(0, bad.start() - 30):bad.end() + 30])
sys.exit(bad is not None)
PYTHON
  done
  for file in "$input" x.cicada; do
    "$CICADA" report "$file" >shown 2>&1
    "$CICADA" diff "$file" "$file" >>shown 2>&1
    "$CICADA" report --json "$file" >>shown 2>&1
    ! LC_ALL=C grep -qP '\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c|\xc2[\x80-\x9f]|\x1b|\\u202e|\\u009b|\\u001b' shown || fail "$file: report: $(cat -v shown)"
  done
done

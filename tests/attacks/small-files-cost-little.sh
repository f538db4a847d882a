#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A pprof of 430 bytes whose one stack unfolds into 120 million inlined calls, and jitdumps with millions of lines: they used to take
# gigabytes. Folded stacks that count for many became as many lines.
source "$(dirname "$0")/lib.sh"
python3 - <<'PYTHON'
import gzip
def number(n):
    out = b''
    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def text(tag, b): return number(tag << 3 | 2) + number(len(b)) + b
def value(tag, n): return number(tag << 3) + number(n)
p = text(1, value(1, 1) + value(2, 2)) + text(2, text(1, b'\x01' * 30000) + text(2, b'\x01'))
p += text(4, value(1, 1) + b''.join(text(4, value(1, 1 + k % 2)) for k in range(4096)))
p += text(5, value(1, 1) + value(2, 3)) + text(5, value(1, 2) + value(2, 4))
for s in (b'', b'samples', b'count', b'f', b'g'): p += text(6, s)
open('deep.pb.gz', 'wb').write(gzip.compress(p, 9))
PYTHON
for output in deep.html deep.svg deep.folded deep.txt; do
  code=0
  bounded 300 5 "$CICADA" convert deep.pb.gz "$output" 2>err || code=$?
  [[ $code == 125 ]] && grep -q "frames in a profile" err || fail "$output: ended with $code: $(<err)"
done
bounded 300 5 "$CICADA" report deep.pb.gz >shown 2>&1 || true

# 33 kB of stacks that each stand for a million samples, and one of 20,000 frames.
python3 -c 'print("a;" * 20000 + "f 1000000"); [print("a;" * 10 + f"f{i} 1000000") for i in range(1000)]' >many.folded
bounded 300 5 "$CICADA" convert -q many.folded many.txt || fail "many.folded: $?"
(($(stat -c %s many.txt) < 2000000)) || fail "$(stat -c %s many.folded) bytes became $(stat -c %s many.txt)"

# Line entries of one function: two million that all name the same long path, eight million of the same address, as many as fit into a hole of 4 GB.
cat >"$lair/jitdump.py" <<'PYTHON'
import os, struct, sys
pid, base = int(os.environ['P']), 0x700000000
with open(f'jit-{pid}.dump', 'wb') as out:
    def record(kind, body, size): out.write(struct.pack('<IIQ', kind, 16 + size, 1) + body)
    out.write(struct.pack('<IIIIIIQQ', 0x4A695444, 1, 40, 62, 0, pid, 1, 0))
    if sys.argv[1] == 'path':
        body = struct.pack('<QQ', base, 2000000) + struct.pack('<QII', base, 1, 0) + b'f' * 4095 + b'\0'
        body += b''.join(struct.pack('<QII', base + i, i, 0) + b'\xff\0' for i in range(1, 2000000))
        record(2, body, len(body))
    elif sys.argv[1] == 'entries':
        body = struct.pack('<QQ', base, 8000000) + (struct.pack('<QII', base, 1, 0) + b'\0') * 8000000
        record(2, body, len(body))
    else:
        record(2, struct.pack('<QQ', base, 2 ** 64 - 1), 0xfffff000)
        out.seek(0xfffff000 - 16, 1)
    body = struct.pack('<IIQQQQ', pid, pid, base, base, 2000010, 1) + b'x' * 4095 + b'\0'
    record(0, body, len(body))
PYTHON
compiled jit_code
start_neighbour
names_left_out() { grep -q 'MiB of names' err; }
for kind in path entries hole; do
  rm -f out
  start "${as_attacker[@]}" "$lair/jit_code" $FOREVER "python3 jitdump.py $kind" dump
  wait_for grep -qs running out
  begin_bounded 300 10 "$CICADA" record -F 997 -p "$pid,$neighbour" -o $kind.folded 2>err
  let_work 0.5 "$pid"
  kill_and_wait "$pid"  # now its names are read, while the other one is recorded
  wait_for names_left_out
  kill -INT "$recorder"
  end_bounded || fail "$kind: record ended with $?"
  grep -q 'xxxxxxxx' $kind.folded || fail "$kind: the function has no name"
  rm -f "$lair"/jit-*.dump
done

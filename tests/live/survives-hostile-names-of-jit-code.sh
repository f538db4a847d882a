#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that runs code of its own writes what it likes into its perf map and jitdump: the recording ends in time, in bounds, and says what is true.
source "$(dirname "$0")/lib.sh"
cc -O1 -w -o jit "$LIVE/../attacks/jit_code.c" || fail "cannot compile"
# hostile NAME PYTHON [dump]: a recording of a process that has run PYTHON first; p: its pid.
hostile() {
  local name=$1 code=0
  printf 'import os, struct\np = os.environ["P"]\nmap = f"/tmp/perf-{p}.map"\ndump = f"jit-{p}.dump"\n%s\n' "$2" >make.py
  start ./jit $FOREVER 'python3 make.py' ${3:-}
  wait_for grep -qs running out
  /usr/bin/time -f '%U %S %M' -o taken timeout -s KILL 300 "$CICADA" record -F 997 -d 2 -p "$pid" -o x.folded -o x.svg 2>err || code=$?
  kill_and_wait "$pid"
  rm -rf "/tmp/perf-$pid.map"
  [[ $code == 0 ]] || fail "$name: record ended with $code"
  local user system kib samples
  read -r user system kib < <(tail -n 1 taken)
  samples=$(awk '{ n += $NF } END { print n + 0 }' x.folded)
  awk -v u="$user" -v s="$system" 'BEGIN { exit !(u + s < 15) }' || fail "$name: took $user + $system s of CPU time"
  ((kib < 600000)) || fail "$name: took $kib KiB"
  ((samples > 100)) || fail "$name: $samples samples"
  [[ -z ${4:-} ]] || grep -q -- "$4" x.folded || fail "$name: no ${4:-} in $(head -3 x.folded)"
  echo "ok      $name: $samples samples, $user + $system s, $((kib / 1024)) MiB"
}
header='head = lambda: struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, int(p), 1, 0)
def record(kind, body, size=None): return struct.pack("<IIQ", kind, 16 + len(body) if size is None else size, 1) + body
def load(begin, size, name): return record(0, struct.pack("<IIQQQQ", int(p), int(p), begin, begin, size, 1) + name)'
hostile 'an honest map' 'open(map, "w").write("700000000 10000 honest\n")' '' honest
hostile 'a line without end' 'open(map, "w").write("700000000 10000 " + "x" * 200_000_000)'
hostile 'no newline, no name, no number' 'open(map, "wb").write(b"700000000\n 10000\n700000000 zz f\n\xff\xfe\0\0\n700000000 10000 honest\n")' '' honest
hostile 'sizes that wrap around' 'open(map, "w").write("ffffffffffffffff ffffffffffffffff a\n700000000 ffffffffffffffff b\n0 ffffffffffffffff c\n")'
hostile 'three million overlapping functions' 'open(map, "w").writelines(f"{0x700000000 + i % 65536:x} {65536 - i % 65536:x} f{i}\n" for i in range(3_000_000))'
hostile 'a map without end' 'os.symlink("/dev/zero", map)'
hostile 'a FIFO' 'os.mkfifo(map)'
hostile 'a directory' 'os.mkdir(map)'
hostile 'an honest dump' "$header"'
open(dump, "wb").write(head() + load(0x700000000, 0x10000, b"honest\0"))' dump honest
hostile 'records of no size' "$header"'
open(dump, "wb").write(head() + record(0, b"", 0) * 1000000)' dump
hostile 'a record larger than the file' "$header"'
open(dump, "wb").write(head() + load(0x700000000, 0x10000, b"honest\0") + record(0, b"abc", 0xfffffff0))' dump
hostile 'a name without end, code that wraps around' "$header"'
open(dump, "wb").write(head() + load(0xffffffffffffff00, 0xffffffff, b"a" * 5000) + load(0x700000000, 2**64 - 1, b"b\0"))' dump
hostile 'moves in a circle' "$header"'
move = lambda a, b: record(1, struct.pack("<IIQQQQQ", int(p), int(p), 0, a, b, 0x10000, 1))
open(dump, "wb").write(head() + load(0x700000000, 0x10000, b"f\0") + (move(0x700000000, 0x800000000) + move(0x800000000, 0x700000000)) * 200000)' dump
hostile 'cut in the header' "$header"'
open(dump, "wb").write(head()[:17] + b"")' dump
hostile 'not a dump' 'open(dump, "wb").write(os.urandom(1 << 20))' dump

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The target maps files made to hurt a reader of unwind tables. Each costs at most its own table, bounded time and memory, and one line; the rest
# of the process is walked as ever.
source "$(dirname "$0")/lib.sh"
cat >make.py <<'PY'
import struct, sys

CODE = 0x100000  # link addresses [0x100000, 0x100000 + 64 MiB)

def elf(name, eh_frame, sections=True, patch=None, extra=b"", extra_name=b".gopclntab"):
    names = b"\0.eh_frame\0.text\0.shstrtab\0" + extra_name + b"\0"
    head, segment = 64, 56
    eh = 0x1000
    eh_end = eh + len(eh_frame)
    extra_at = (eh_end + 15) & ~15
    names_at = extra_at + len(extra)
    table_at = (names_at + len(names) + 7) & ~7
    count = 6 if sections else 0
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1" + bytes(9), 3, 62, 1, CODE, head, table_at if sections else 0, 0, head, segment, 2, 64, count, 3 if sections else 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, CODE, CODE, 0x1000, 64 << 20, 4096)
    data = struct.pack("<IIQQQQQQ", 1, 4, eh, CODE * 0x100, CODE * 0x100, len(eh_frame), len(eh_frame), 4096)
    def section(name, kind, flags, address, offset, size):
        return struct.pack("<IIQQQQIIQQ", names.index(name) if name else 0, kind, flags, address, offset, size, 0, 0, 1, 0)
    table = section(b"", 0, 0, 0, 0, 0) + section(b".eh_frame\0", 1, 2, CODE * 0x100, eh, len(eh_frame)) + \
        section(b".text\0", 8, 6, CODE, 0, 64 << 20) + section(b".shstrtab\0", 3, 0, 0, names_at, len(names)) + \
        section(extra_name + b"\0", 1, 2, 0, extra_at, len(extra)) + section(b"", 0, 0, 0, 0, 0)
    image = bytearray(header + load + data)
    image += bytes(eh - len(image)) + eh_frame
    image += bytes(extra_at - len(image)) + extra + names
    image += bytes(table_at - len(image)) + table
    if patch:
        patch(image)
    open(name, "wb").write(image)

def entry(body):
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body

CIE = entry(struct.pack("<IB", 0, 1) + b"\0" + bytes([1, 0x78, 16, 0x0c, 7, 8, 0x90, 1]))  # no augmentation: absolute 8-byte addresses

def fde(at, begin, size, program=b""):
    return entry(struct.pack("<IQQ", at + 4, begin, size) + program)

def many(make, count):
    out = bytearray(CIE)
    for i in range(count):
        out += make(len(out), i)
    return bytes(out)

# 150,000 entries that all cover everything; each begins a byte after the one before.
elf("overlapping.so", many(lambda at, i: fde(at, CODE + i, 32 << 20, bytes([0x41, 0x0e, 16])), 150000))
# The same begin for all.
elf("same.so", many(lambda at, i: fde(at, CODE, 1 << 20), 150000))
# Entries whose CIE is themselves, each other, or out of the section.
elf("self.so", many(lambda at, i: entry(struct.pack("<IQQ", (0, 4, 0xffffffff, at + 4 + 16)[i % 4], CODE + 16 * i, 16)), 50000))
# Ranges that wrap around 2^64.
elf("wrapping.so", many(lambda at, i: fde(at, (1 << 64) - 8 * (i + 1), 1 << 63 if i % 2 else 4096), 50000))
# Lengths of 4 GiB and 2^63.
elf("lengths.so", CIE + struct.pack("<I", 0xfffffff0) + bytes(64) + struct.pack("<IQ", 0xffffffff, 1 << 63) + bytes(64))
# One function with four million rows; another that remembers for ever.
elf("rows.so", many(lambda at, i: fde(at, CODE, 32 << 20, bytes([0x41, 0x0e, 16, 0x41, 0x0e, 8]) * 1000000), 1))
elf("remember.so", many(lambda at, i: fde(at, CODE + 4096 * i, 4096, b"\x0a" * 100000), 20))
# 50,000 CIEs, each with a long program, each used.
def cies(count):
    out = bytearray()
    for i in range(count):
        at = len(out)
        out += entry(struct.pack("<IB", 0, 1) + b"\0" + bytes([1, 0x78, 16]) + bytes([0x0c, 7, 8]) * 60)
        out += entry(struct.pack("<IQQ", len(out) + 4 - at, CODE + 16 * i, 16))
    return bytes(out)
elf("cies.so", cies(20000))
# Headers that promise 65,535 sections and segments.
def counts(image):
    struct.pack_into("<H", image, 56, 0xffff)
    struct.pack_into("<H", image, 60, 0xffff)
elf("counts.so", CIE, patch=counts)
def far(image):
    struct.pack_into("<Q", image, 40, (1 << 64) - 64)
elf("far.so", CIE, patch=far)
# A Go table whose 100,000 functions share one endless list of steps.
n = 100000
steps = b"\0" + bytes([2, 1]) + bytes([0x10, 1, 0x0f, 1]) * 50000 + b"\0"
functions_at = 72 + len(steps)
table = struct.pack("<IHBB8Q", 0xfffffff1, 0, 1, 8, n, 1, CODE, 72, 72, 72, 72, functions_at)
functions = b"".join(struct.pack("<II", 400 * i, 8 * n + 8) for i in range(n)) + struct.pack("<I", 400 * n) + bytes(4)
elf("go.so", CIE, extra=table + steps + functions + struct.pack("<IIIIIIIIII", 0, 0, 0, 0, 1, 0, 0, 0, 0, 0) + bytes(8))
PY
python3 make.py
cat >map.py <<'PY'
import glob, mmap, os
kept = []
for name in sorted(glob.glob("*.so")):
    fd = os.open(name, os.O_RDONLY)
    kept.append(mmap.mmap(fd, 0x1000, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("mapped", len(kept), flush=True)
while True:
    sum(range(1000))
PY
start python3 map.py
wait_for said_something
grep -q 'mapped 11' out || fail "not all files could be mapped: $(cat out)"
/usr/bin/env python3 - "$CICADA" "$pid" <<'PY' || fail "too slow, or too much memory"
import resource, subprocess, sys, time
begin = time.time()
done = subprocess.run([sys.argv[1], "record", "-F", "499", "-d", "3", "-p", sys.argv[2], "-o", "x.folded", "-o", "recording.txt"], stderr=open("err", "w"), timeout=300)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{time.time() - begin:.1f} s, {usage.ru_utime + usage.ru_stime:.2f} s of CPU, {usage.ru_maxrss >> 10} MiB")
sys.exit(done.returncode or usage.ru_maxrss >> 10 > 600 or usage.ru_utime + usage.ru_stime > 20)
PY
for file in *.so; do
  (($(grep -c "warning.*$file" err) <= 1)) || fail "more than one line on $file"
done
[[ $(grep -c 'warning' err) -le 11 ]] || fail "more than a line a file"
grep -a warning err || true
printf 'share ~_?PyEval_EvalFrameDefault|.*python.* 50\ncomplete\n' >truth
ANY_NAME=1 compare_with_truth hostile

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fired = stored + idle + lost(reason), at 99 and 4,999 Hz, beside a program that hammers BPF map updates (during which the kernel
# skips sampling programs). fired is held against the clock, stored against the samples that were written.
source "$(dirname "$0")/lib.sh"
cat >hammer.py <<'PY'
import ctypes, struct
bpf = ctypes.CDLL(None, use_errno=True).syscall
def call(command, attributes):
    buffer = ctypes.create_string_buffer(attributes.ljust(128, b"\0"), 128)
    return bpf(321, command, buffer, 128)
fd = call(0, struct.pack("IIII", 1, 4, 8, 1024))  # BPF_MAP_CREATE, a hash
assert fd >= 0, "cannot create a map"
key, value = ctypes.c_uint32(7), ctypes.c_uint64(1)
update = ctypes.create_string_buffer(struct.pack("IIQQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(value), 0).ljust(128, b"\0"), 128)
print("hammering", flush=True)
while bpf(321, 2, update, 128) == 0:
    pass
PY
start python3 hammer.py
wait_for 10 said_something
for rate in 99 4999; do
  "$CICADA" record -a -F $rate -d 2 --stats -o x.txt 2>err || fail "record ended with $?"
  python3 - err x.txt $rate "$(nproc)" <<'PY' || fail "the books are wrong at $rate Hz"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
rate, cpus = int(sys.argv[3]), int(sys.argv[4])
fired, seconds = re.search(r"^([0-9,]+) samples in ([0-9.]+) s", text, re.M).groups()
fired, seconds = int(fired.replace(",", "")), float(seconds)
parts = {m[2]: int(m[1].replace(",", "")) for m in re.finditer(r"^ +([0-9,]+) +[0-9.]+ %  (.*)$", text, re.M)}
written = sum(1 for line in open(sys.argv[2], encoding="utf-8", errors="replace") if re.match(r"\S.* cpu-clock:", line))
print(fired, seconds, parts, written)
# The kernel throttles an event that fires often (its count stands still meanwhile): at 4,999 Hz up to a third was seen.
clock = rate * cpus * seconds
on_time = 0.94 * clock <= fired <= 1.06 * clock if rate < 1000 else 0.3 * clock <= fired <= 1.06 * clock
sys.exit(0 if sum(parts.values()) == fired and parts["stored"] == written and on_time else 1)
PY
done

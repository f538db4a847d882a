#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The target maps a file whose unwind tables are garbage: a warning at most, and the rest is right.
source "$(dirname "$0")/lib.sh"
cp "$WORKLOADS/libplugin_one.so" broken.so
read -r offset size < <(readelf -SW broken.so | awk '$2 == ".eh_frame" || $3 == ".eh_frame" { sub(/.*\.eh_frame */, ""); print $3, $4 }')
head -c $((16#$size - 16)) /dev/urandom | dd of=broken.so bs=1 seek=$((16#$offset + 8)) conv=notrunc status=none
head -c 3000 "$WORKLOADS/libplugin_two.so" >short.so
truncate -s 20000 short.so
cat >map.py <<'PY'
import mmap, os, sys
kept = []
for name in ("broken.so", "short.so"):
    fd = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
    kept.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("mapped", flush=True)
while True:
    sum(range(1000))
PY
start python3 map.py "$T"
wait_for said_something
record_while_working 1 "$pid" -F 997 -p "$pid" -o recording.txt -o x.svg
printf 'share ~_?PyEval_EvalFrameDefault|.*python.* 50\ncomplete\n' >truth
ANY_NAME=1 compare_with_truth map.py
[[ $(grep -c 'warning' err) -le 4 ]] || fail "more than a line an object"

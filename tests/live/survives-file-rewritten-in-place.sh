#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A library is truncated and written again and again, in place, while it is opened, compiled and symbolized: whatever its stacks say,
# cicada lives, the program's own code is right, and nobody is told more than once.
source "$(dirname "$0")/lib.sh"
library=$(ldconfig -p | sed -n 's/.*libstdc++\.so\.6 .*=> //p' | head -n 1)
cp "$(readlink -f "$library")" rewritten.so
cat >map.py <<'PY'
import mmap, os, sys, time
def busy_leaf():
    return sum(range(2000))
print("begins", flush=True)
kept = []
while True:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    try:
        kept.append(mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    except (ValueError, OSError):  # empty just now
        pass
    os.close(fd)
    del kept[:-3]
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        busy_leaf()
PY
cat >rewrite.sh <<'SH'
while :; do
  head -c $((RANDOM * 60)) "$1" >"$2"
  cat "$1" >"$2"
done
SH
cp rewritten.so good.so
bash rewrite.sh good.so rewritten.so &
started+=($!)
start python3 map.py "$T/rewritten.so"
wait_for said_something
record_while_working 4 "$pid" -F 997 -p "$pid" -o x.folded -o x.svg
[[ $(awk '{ n += $NF } END { print n + 0 }' x.folded) -gt 1000 ]] || fail "too few samples"
[[ $(grep -c 'rewritten.so' err) -le 4 ]] || fail "more than a line for each kind of trouble"

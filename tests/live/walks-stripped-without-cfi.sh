#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A stripped program whose compiler was told to leave call-frame information out: its functions are known by the calls to them, and main by the start code.
source "$(dirname "$0")/lib.sh"
for kind in small large; do
  python3 - $kind >program.c <<'P'
import sys
# Each calls the next. Of the large one, which is more than is read at once, only those at both ends run.
count = 60 if sys.argv[1] == "small" else 900
print("#include <stdlib.h>\n#include <time.h>")
for i in reversed(range(count)):
    print(f"__attribute__((noinline, noipa)) static long f{i}(long a, long b) {{ volatile long kept[{i % 13 + 1}]; kept[0] = a * {i}; __asm__ volatile(\".skip 800, 0x90\");")
    if i == count - 1: print("  for (long j = 0; j < 200000; j++) kept[0] = kept[0] * 3 + j;")
    elif i == 50 and count > 100: print(f"  b += f{count - 50}(a, b);")
    else: print(f"  if (a == {i}) b ^= f{i + 1}(a + 1, b); else b += f{i + 1}(a + 2, b ^ 3);")
    print(f"  if (b == 42) abort();\n  return b + kept[0] + {i}; }}")
print("int main(void) { long sum = 0; clock_t end = 2 * CLOCKS_PER_SEC; while (clock() < end) for (int i = 0; i < 10; i++) sum += f0(i, sum); return sum == 7; }")
P
  cc -O1 -w -fno-asynchronous-unwind-tables -fno-unwind-tables -s -o $kind program.c || fail "cannot compile the program"
  "$CICADA" record -q -F 997 -o $kind.cicada ./$kind 2>err.txt || fail "record"
  "$CICADA" report $kind.cicada >report.txt
  grep -qE '^complete   (100|99\.9[0-9]*) % of [0-9,]+ user stacks$' report.txt || fail "$kind: $(grep complete report.txt)"
  "$CICADA" convert -q $kind.cicada $kind.folded
  awk '/;__libc_start_call_main;main;/ { n = split($1, frames, ";"); if (n >= 55) deep += $NF } { all += $NF } END { exit !(deep > 0.9 * all) }' $kind.folded || fail "$kind: $(head -3 $kind.folded)"
done

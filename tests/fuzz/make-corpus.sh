#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Seeds for the CFI fuzz target: .eh_frame of small programs of this machine, cut to 4 KiB.   make-corpus.sh OUTPUT_DIR
set -eu
out=$1/cfi_fuzz
mkdir -p "$out" "$1/expression_fuzz" "$1/table_fuzz"
n=0
for file in /usr/bin/true /usr/bin/env /usr/bin/gzip /usr/lib/x86_64-linux-gnu/lib{c,m,crypto,gcrypt,gcc_s,z}.so.*; do
  [ -f "$file" ] || continue
  raw=$(mktemp)
  objcopy -O binary --only-section=.eh_frame "$file" "$raw" 2>/dev/null || true
  for offset in 0 16384; do
    { printf '\001'; tail -c +$((offset + 1)) "$raw" | head -c 4096; } >"$out/$n"
    n=$((n + 1))
  done
  rm -f "$raw"
done
printf '\377\377\010\001\167\010\200\000\077\032\073\052\063\044\042' >"$1/expression_fuzz/plt"
printf '\377\377\010\001\166\170\006\043\010' >"$1/expression_fuzz/drap"
printf '\002\100\000\020\004\200\377\017\300\100\000\001\002\003\105\001\002' >"$1/table_fuzz/mixed"

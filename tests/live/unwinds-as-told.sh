#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --unwind: code with frame pointers and no tables (written into memory at run time) is passed with auto and fp, and ends the walk with table; code with
# tables and no frame pointers is passed with auto and table, and not with fp.
source "$(dirname "$0")/lib.sh"
cat >written.c <<'C'
#include <string.h>
#include <sys/mman.h>
#include "workload.h"
// push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
NOINLINE void leaf(void) { burn(200000); }
NOINLINE void caller(void (*written)(void (*)(void))) { written(leaf); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  begin(argc, argv);
  while (running()) caller(memcpy(memory, code, sizeof code));
}
C
gcc -O0 -D_GNU_SOURCE -I"$LIVE/../workloads" -o written written.c
gcc -O2 -D_GNU_SOURCE -fomit-frame-pointer -o tabled "$LIVE/../workloads/chain.c"

# expect PROGRAM MODE CONDITION CHAIN: of the samples in leaf, the percentage under CHAIN (a regular expression).
expect() {
  local got
  "$CICADA" record -F 997 --unwind "$2" --no-kernel -o x.folded -- "./$1" 1 >truth 2>err || fail "record --unwind $2 ended with $?"
  got=$(awk -v chain="$4" '/(^|;)leaf [0-9]+$/ { all += $NF; if ($0 ~ chain) whole += $NF } END { if (all < 100) print -1; else printf "%d\n", 100 * whole / all }' x.folded)
  (($got $3)) || { sort -k2nr x.folded | head -3; fail "$1 with --unwind $2: $got % of the chains are whole, not $3"; }
  echo "ok      $1 --unwind $2: $got %"
}
through_written='main;caller;[^;]*;leaf '
expect written auto '>= 99' "$through_written"
expect written fp '>= 99' "$through_written"
expect written table '== 0' "$through_written"
through_tabled='main;first;second;third;leaf '
expect tabled auto '>= 99' "$through_tabled"
expect tabled table '>= 99' "$through_tabled"
expect tabled fp '== 0' "$through_tabled"

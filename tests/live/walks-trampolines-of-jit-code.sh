#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JIT code that calls on without a frame pointer, as CPython's -X perf trampolines do: "sub $8,%rsp; call *%rdi; add $8,%rsp; ret".
source "$(dirname "$0")/lib.sh"
cat >a.c <<'C'
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static void (*trampoline)(void (*)(void));
volatile unsigned long sink;
__attribute__((noinline)) void leaf(void) {
  for (int i = 0; i < 2000000; i++) sink += i;
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void middle(void) { trampoline(leaf); __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void outer(void) { trampoline(middle); __asm__ volatile("" ::: "memory"); }
int main(void) {
  const unsigned char code[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  char *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(at + 64, code, sizeof code);
  trampoline = (void (*)(void (*)(void)))(at + 64);
  while (clock() < CLOCKS_PER_SEC / 2) outer();
}
C
gcc -O2 -fomit-frame-pointer a.c -o a
"$CICADA" record -q -F 997 -o x.folded -- ./a || fail "record ended with $?"
awk '/;leaf / || /;leaf;/ { all += $NF; if (/main;outer;\[jit\];middle;\[jit\];leaf/) whole += $NF }
     END { print whole + 0, all + 0; exit !(all > 100 && whole >= 0.99 * all) }' x.folded || fail "$(head -3 x.folded)"

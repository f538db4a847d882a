// SPDX-License-Identifier: Apache-2.0
// nested_inlines SECONDS: generated code below 1,100 callers at random places of pad(), another chain each millisecond; by its DWARF every place
// of pad() is in 255 inlined calls, one in the other. With -DLINES each is on a line of its own. Says "running".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef LINES
#define PAD ".file 1 \"pad.c\"\n.set at, 1\npad: .rept 1048576\n.loc 1 at\nnop\n.set at, at + 1\n.endr\n"
#define LINES_ABBREV "0x10, 0x17, "  // stmt_list
#define LINES_OFFSET ".long .debug_line\n"
#define LINES_SECTION ".section .debug_line, \"\"\n"
#else
#define PAD "pad: .fill 1048576, 1, 0x90\n"
#define LINES_ABBREV
#define LINES_OFFSET
#define LINES_SECTION
#endif

extern const unsigned char pad[];
asm(".text\n.globl pad\n.type pad, @function\n" PAD ".size pad, . - pad\n"
    ".section .debug_abbrev, \"\", @progbits\n"
    ".byte 1, 0x11, 1, 0x11, 1, 0x12, 7, " LINES_ABBREV "0, 0\n"  // unit: low_pc, high_pc
    ".byte 2, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0\n"     // function: name, low_pc, high_pc
    ".byte 3, 0x1d, 1, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0\n"  // inlined call: abstract_origin, low_pc, high_pc
    ".byte 4, 0x2e, 0, 3, 8, 0, 0\n"                       // what is inlined: name
    ".byte 0\n"
    ".section .debug_info, \"\", @progbits\n"
    "0: .long 2f - 1f\n1: .short 5\n.byte 1, 8\n.long 0\n"
    ".byte 1\n.quad pad, 1048576\n" LINES_OFFSET
    "3: .byte 4\n.asciz \"inlined\"\n"
    ".byte 2\n.asciz \"pad\"\n.quad pad, 1048576\n"
    ".rept 255\n.byte 3\n.long 3b - 0b\n.quad pad, 1048576\n.endr\n"
    ".fill 257, 1, 0\n2:\n" LINES_SECTION ".text");

int main(int argc, char **argv) {
  static const unsigned char kSpin[] = {0x55, 0x48, 0x89, 0xfd, 0x48, 0x89, 0xf1, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};  // rbp = first argument
  static uint64_t frames[2202];
  if (argc < 2) return 2;
  void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(code, kSpin, sizeof kSpin);
  puts("running");
  fflush(stdout);
  const time_t end = time(0) + atoi(argv[1]);
  for (uint64_t x = 88172645463325252ULL; time(0) < end;) {
    for (int i = 0; i < 1100; ++i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      frames[2 * i] = (uint64_t)&frames[2 * i + 2];
      frames[2 * i + 1] = (uint64_t)pad + 1 + x % 1048000;
    }
    ((void (*)(uint64_t *, uint64_t))code)(frames, 1000000);
  }
}

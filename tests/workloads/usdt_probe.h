// SPDX-License-Identifier: Apache-2.0
// A USDT probe: its note, and the nop where it is passed.
#pragma once

// As <sys/sdt.h> writes notes, with operands of our choice.
#define PROBE_OF(provider, name, semaphore, arguments, ...)                                                   \
  __asm__ volatile(                                                                                           \
      "990: nop\n"                                                                                            \
      ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                            \
      ".balign 4\n"                                                                                           \
      ".4byte 992f-991f, 994f-993f, 3\n"                                                                      \
      "991: .asciz \"stapsdt\"\n"                                                                             \
      "992: .balign 4\n"                                                                                      \
      "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                                     \
      ".asciz \"" provider "\"\n"                                                                             \
      ".asciz \"" name "\"\n"                                                                                 \
      ".asciz \"" arguments "\"\n"                                                                            \
      "994: .balign 4\n"                                                                                      \
      ".popsection\n"                                                                                         \
      ".ifndef _.stapsdt.base\n"                                                                              \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                 \
      ".weak _.stapsdt.base\n"                                                                                \
      ".hidden _.stapsdt.base\n"                                                                              \
      "_.stapsdt.base: .space 1\n"                                                                            \
      ".size _.stapsdt.base, 1\n"                                                                             \
      ".popsection\n"                                                                                         \
      ".endif\n"                                                                                              \
      :                                                                                                       \
      : __VA_ARGS__                                                                                           \
      : "memory")
#define PROBE(name, semaphore, arguments, ...) PROBE_OF("hits", name, semaphore, arguments, __VA_ARGS__)

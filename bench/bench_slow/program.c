/* SPDX-License-Identifier: Apache-2.0
 * program PERCENT [inlined]: ten functions, some 90 ms. `tokenize` does PERCENT of the whole more, itself or in `scan`, which is inlined into it. */
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, factor)                                              \
  __attribute__((noinline)) static unsigned name(unsigned count) {          \
    unsigned value = factor;                                                \
    __asm__ volatile("" : "+r"(value));                                     \
    for (unsigned i = 0; i < count; i++) value = value * factor + (value >> 7); \
    return value;                                                           \
  }
FUNCTION(open_all, 1664525u)
FUNCTION(decode, 22695477u)
FUNCTION(parse, 1103515245u)
FUNCTION(resolve, 134775813u)
FUNCTION(check, 214013u)
FUNCTION(fold, 69069u)
FUNCTION(allocate, 16843009u)
FUNCTION(emit, 2654435761u)
FUNCTION(link_all, 48271u)

__attribute__((always_inline)) static inline unsigned scan(unsigned value, unsigned count) {
  for (unsigned i = 0; i < count; i++) value = value * 1566083941u + (value >> 9);
  return value;
}

__attribute__((noinline)) static unsigned tokenize(unsigned own, unsigned scanned) {
  unsigned value = 3;
  __asm__ volatile("" : "+r"(value));
  value = scan(value, scanned);
  for (unsigned i = 0; i < own; i++) value = value * 1812433253u + (value >> 7);
  return value;
}

int main(int argc, char **argv) {
  const unsigned unit = 560000, more = argc > 1 ? unit / 200 * 21 * (unsigned)atoi(argv[1]) : 0; /* a tenth of the whole, and 5 % for its start and end */
  const int inlined = argc > 2 && !strcmp(argv[2], "inlined");
  unsigned sum = 0;
  for (int i = 0; i < 10; i++) {
    sum += open_all(unit) + decode(unit) + parse(unit) + resolve(unit) + check(unit) + fold(unit) + allocate(unit) + emit(unit) + link_all(unit);
    sum += tokenize(unit / 2 + (inlined ? 0 : more), unit / 2 + (inlined ? more : 0));
  }
  return sum == 42;
}

// SPDX-License-Identifier: Apache-2.0
// Nearly all time in the C library: allocation, sorting with a comparator, formatting, copying, the clock. Its truth is asked of a libc without CFI.
#include <stdint.h>
#include <string.h>

#include "workload.h"

static char text[256], from[1 << 16], to[1 << 16];
static void* blocks[64];
static int numbers[512];
static volatile double seen;

NOINLINE int compare(const void* a, const void* b) {
  burn(20);
  return *(const int*)a - *(const int*)b;
}
NOINLINE void allocate(void) {
  for (int i = 0; i < 200; i++) {
    void** const block = &blocks[i * 7 % 64];
    free(*block);
    *block = malloc((size_t)(16 + i * 37 % 3000));
    if (i % 16 == 0) *block = realloc(*block, 2000);
  }
}
NOINLINE void sort(void) {
  uint32_t random = 1;
  for (int i = 0; i < 512; i++) numbers[i] = (int)((random = random * 1664525 + 1013904223) >> 8);
  qsort(numbers, 512, sizeof *numbers, compare);
  NO_TAIL_CALL();
}
NOINLINE void format(void) {
  for (int i = 0; i < 300; i++) snprintf(text, sizeof text, "%d %s %08lx %.6f %g", i, "a string", (unsigned long)i * 77777, i * 1.5, 1e10 / (i + 1));
}
NOINLINE void copy(void) {
  for (int i = 0; i < 40; i++) {
    memcpy(to, from + i, sizeof to - 64);
    memmove(from, from + 8, sizeof from - 8);
    memset(to, i, 8192);
    seen = (double)strlen(text) + (double)(strchr(text, 'z') != NULL);
  }
}
NOINLINE void ask_clock(void) {
  for (int i = 0; i < 1000; i++) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seen = (double)now.tv_nsec;
  }
}

// Each gets its share of the CPU time, whatever it costs.
static inline __attribute__((always_inline)) void spend(double seconds, void (*work)(void)) {
  const double end = used_seconds() + seconds;
  do work();
  while (used_seconds() < end);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  puts("through main;allocate");
  puts("through main;sort;compare");
  puts("through main;format");
  puts("through main;copy");
  puts("through main;ask_clock");
  puts("share main 99.9");
  puts("complete");
  while (running()) {
    spend(0.002, allocate);
    spend(0.004, sort);
    spend(0.002, format);
    spend(0.002, copy);
    spend(0.002, ask_clock);
  }
  return 0;
}

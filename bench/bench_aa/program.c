/* SPDX-License-Identifier: Apache-2.0
 * program PERCENT: a benchmark of 400 rounds of two equal functions; the second one does PERCENT more of the whole. */
#include <cicada/bench.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned steady(unsigned count) {
  unsigned value = 1;
  __asm__ volatile("" : "+r"(value));
  for (unsigned i = 0; i < count; i++) value = value * 1664525u + 1013904223u + (value >> 7);
  return value;
}

__attribute__((noinline)) static unsigned changing(unsigned count) {
  unsigned value = 2;
  __asm__ volatile("" : "+r"(value));
  for (unsigned i = 0; i < count; i++) value = value * 22695477u + 1u + (value >> 7);
  return value;
}

int main(int argc, char **argv) {
  const unsigned unit = 100000, more = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  unsigned sum = 0;
  sum += steady(unit);
  cicada_bench_start();
  for (int i = 0; i < 400; i++) {
    const uint64_t begin = cicada_bench_now();
    sum += steady(unit) + changing(unit + 2 * unit * more / 100);
    cicada_bench_round(begin, cicada_bench_now());
  }
  cicada_bench_stop("program.c::both");
  return sum == 42;
}

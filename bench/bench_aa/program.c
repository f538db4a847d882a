/* SPDX-License-Identifier: Apache-2.0
 * program: a benchmark of 200 rounds of two functions, 60 ms in all. */
#include <cicada/bench.h>

__attribute__((noinline)) static unsigned first(unsigned count) {
  unsigned value = 1;
  __asm__ volatile("" : "+r"(value));
  for (unsigned i = 0; i < count; i++) value = value * 1664525u + 1013904223u + (value >> 7);
  return value;
}

__attribute__((noinline)) static unsigned second(unsigned count) {
  unsigned value = 2;
  __asm__ volatile("" : "+r"(value));
  for (unsigned i = 0; i < count; i++) value = value * 22695477u + 1u + (value >> 7);
  return value;
}

int main(void) {
  const unsigned unit = 80000;
  unsigned sum = first(unit);
  cicada_bench_start();
  for (int i = 0; i < 200; i++) {
    const uint64_t begin = cicada_bench_now();
    sum += first(unit) + second(unit);
    cicada_bench_round(begin, cicada_bench_now());
  }
  cicada_bench_stop("program.c::both");
  return sum == 42;
}

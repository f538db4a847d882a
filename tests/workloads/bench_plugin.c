// SPDX-License-Identifier: Apache-2.0
// bench_client loads it between two benchmarks, and calls its own work through it.
#include <stdint.h>

extern void (*bench_work(int n))(int);

__attribute__((noinline)) void in_plugin(uint64_t ms, int n) {
  bench_work(n)((int)ms);
  __asm__ volatile("");
}

/* SPDX-License-Identifier: Apache-2.0
 * sudo cicada bench -- ./three_lines */
#include <cicada/bench.h>
#include <stdio.h>

static unsigned sorted[20000];

__attribute__((noinline)) static void insertion_sort(unsigned count) {
  for (unsigned i = 0; i < count; i++) sorted[i] = (i * 7919u) % count;
  for (unsigned i = 1; i < count; i++)
    for (unsigned k = i; k > 0 && sorted[k - 1] > sorted[k]; k--) {
      const unsigned larger = sorted[k - 1];
      sorted[k - 1] = sorted[k];
      sorted[k] = larger;
    }
}

int main(void) {
  for (unsigned count = 2500; count <= 10000; count *= 2) {
    char name[64];
    snprintf(name, sizeof name, "three_lines.c::insertion_sort[%u]", count);
    cicada_bench_start();
    for (int round = 0; round < 12; round++) {
      const uint64_t begin = cicada_bench_now();
      insertion_sort(count);
      cicada_bench_round(begin, cicada_bench_now());
    }
    cicada_bench_stop(name);
  }
  return sorted[0] != 0;
}

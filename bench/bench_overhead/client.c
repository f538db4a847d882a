/* SPDX-License-Identifier: Apache-2.0
 * client latency N        round trips of Start, Stop and AddMarker, ns: p50 and p90
 * client between SECONDS  busy between two benchmarks
 * client inside WORK      one benchmark of a fixed amount of work; prints its ns. Without a runner the work alone */
#include <cicada/bench.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

__attribute__((noinline)) static unsigned work(unsigned long count) {
  unsigned value = 1;
  for (unsigned long i = 0; i < count; i++) value = value * 1664525u + 1013904223u + (value >> 7);
  return value;
}

static uint64_t ask(uint32_t kind) {
  const uint64_t begin = cicada_bench_now();
  if (kind == 7) {
    const uint32_t marker[5] = {7, (uint32_t)getpid(), 0, (uint32_t)begin, (uint32_t)(begin >> 32)};
    cicada_bench_ask(cicada_bench_get(), marker, sizeof marker);
  } else {
    cicada_bench_ask_number(cicada_bench_get(), kind);
  }
  return cicada_bench_now() - begin;
}

static void latency(unsigned count) {
  static const char *const names[] = {"Start", "Stop", "AddMarker"};
  static const uint32_t kinds[] = {1, 2, 7};
  uint64_t *all = calloc(3 * count, sizeof *all);
  for (unsigned i = 0; i < count; i++)
    for (unsigned k = 0; k < 3; k++) all[k * count + i] = ask(kinds[k]);
  for (unsigned k = 0; k < 3; k++) {
    qsort(all + k * count, count, sizeof *all, ascending);
    printf("%-12s %9.1f us %9.1f us\n", names[k], (double)all[k * count + count / 2] / 1e3, (double)all[k * count + count * 9 / 10] / 1e3);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const int on = cicada_bench_is_on();
  if (!strcmp(argv[1], "latency")) {
    if (!on) return 1;
    latency((unsigned)atoi(argv[2]));
  } else if (!strcmp(argv[1], "between")) {
    cicada_bench_start();
    cicada_bench_stop("client.c::first");
    puts("off");
    fflush(stdout);
    const uint64_t end = cicada_bench_now() + (uint64_t)atoi(argv[2]) * 1000000000u;
    while (cicada_bench_now() < end) work(100000);
  } else {
    cicada_bench_start();
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    const uint64_t before = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    const unsigned value = work(strtoul(argv[2], 0, 10));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%llu\n", (unsigned long long)((uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec - before + (value == 42)));
    cicada_bench_stop("client.c::inside");
  }
  return 0;
}

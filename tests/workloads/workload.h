// SPDX-License-Identifier: Apache-2.0
// What every workload shares. A workload prints its own truth on standard output, one statement a line, then runs for
// argv[1] seconds. The statements are those of tests/live/truth.py.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
// At the end of a function: what it called cannot become a jump.
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static inline double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double workload_end;
static inline void begin(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  workload_end = cpu_seconds() + (argc > 1 ? atof(argv[1]) : 2);
}
static inline int running(void) { return cpu_seconds() < workload_end; }

// About a nanosecond a round; the caller is where the time goes.
static inline __attribute__((always_inline)) void burn(long rounds) {
  for (long i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}

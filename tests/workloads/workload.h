// SPDX-License-Identifier: Apache-2.0
// What every workload shares. A workload prints its own truth on standard output, one statement a line, then runs for
// argv[1] seconds. The statements are those of tests/live/truth.py.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
// At the end of a function: what it called cannot become a jump.
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

// Passed since some moment.
static inline double wall_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// By this process and the children it has waited for.
static inline double used_seconds(void) {
  double used = 0;
  for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
    struct rusage usage;
    getrusage(who, &usage);
    used += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  }
  return used;
}

static double workload_end, workload_seconds;
static inline void begin(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  workload_seconds = argc > 1 ? atof(argv[1]) : 2;
  workload_end = wall_seconds() + workload_seconds;
}
// Until argv[1] seconds have passed, and then until half of that was spent on a CPU: on a crowded machine for ten times as long at most, so that
// a recording has its samples there, too.
static inline int running(void) {
  const double late = wall_seconds() - workload_end;
  if (late < 0) return 1;
  return late < 10 * workload_seconds && used_seconds() < workload_seconds / 2;
}

// About a nanosecond a round; the caller is where the time goes.
static inline __attribute__((always_inline)) void burn(long rounds) {
  for (long i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}

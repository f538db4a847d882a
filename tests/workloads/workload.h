// SPDX-License-Identifier: Apache-2.0
// What every workload shares. A workload prints its own truth on standard output, one statement a line, then works for
// argv[1] seconds of CPU time. The statements are those of tests/live/truth.py.
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

// CPU time of this thread.
static inline double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

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

static double workload_seconds, workload_begin, used_before;
static inline void begin(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  workload_seconds = argc > 1 ? atof(argv[1]) : 2;
  workload_begin = wall_seconds();
  used_before = used_seconds();  // an exec does not reset it
}
// Seconds of CPU time since begin(); a child that was forked since then counts its own.
static inline double worked(void) { return used_seconds() - used_before; }
// Until argv[1] seconds of CPU time are used: a recording has as many samples on a busy machine as on an idle one. What a killed test has left
// behind ends after twenty minutes. Asks the kernel once in a millisecond: it takes a lock of the scheduler, a fifth of the time on a busy machine.
static inline int running(void) {
  static double next;
  const double now = wall_seconds();
  if (now < next) return 1;
  next = now + 0.001;
  return worked() < workload_seconds && now < workload_begin + workload_seconds + 1200;
}

// About a nanosecond a round; the caller is where the time goes.
static inline __attribute__((always_inline)) void burn(long rounds) {
  for (long i = 0; i < rounds; i++) __asm__ volatile("" : "+r"(i));
}

// 0.5 to 1.5 times as many: samples fall into step with turns that take the same time (74.2 % for 70 was seen).
static inline long about(long rounds) {
  static unsigned long state = 88172645463325252;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return rounds / 2 + (long)(state % (unsigned long)rounds);
}

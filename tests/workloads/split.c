// SPDX-License-Identifier: Apache-2.0
// About 70 % here, 30 % there: the same loop at the same alignment. How fast each runs is the processor's affair, so the CPU time of both is counted.
// No two turns take the same time: samples fell into step with equal ones (74.2 % was seen).
#include <time.h>

#include "workload.h"
NOINLINE __attribute__((aligned(64))) void hot(long rounds) { burn(rounds); }
NOINLINE __attribute__((aligned(64))) void warm(long rounds) { burn(rounds); }
static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
// 0.5 to 1.5 times as many.
static long about(long rounds) {
  static unsigned long state = 88172645463325252;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return rounds / 2 + (long)(state % (unsigned long)rounds);
}
int main(int argc, char** argv) {
  double in_hot = 0, in_warm = 0;
  begin(argc, argv);
  puts("chain main;hot");
  puts("chain main;warm");
  while (running())
    for (int i = 0; i < 2; i++) {
      const double before = thread_seconds();
      hot(about(700000));
      const double between = thread_seconds();
      warm(about(300000));
      in_hot += between - before;
      in_warm += thread_seconds() - between;
    }
  printf("split hot %.3f warm %.3f\n", in_hot, in_warm);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// About 70 % here, 30 % there. How fast each runs is the processor's affair, so the CPU time of both is counted.
#include "workload.h"
NOINLINE __attribute__((aligned(64))) void hot(long rounds) { burn(rounds); }
NOINLINE __attribute__((aligned(64))) void warm(long rounds) { burn(rounds); }
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

// SPDX-License-Identifier: Apache-2.0
// Most samples are inside the vDSO.
#include "workload.h"
NOINLINE void read_clock(void) {
  struct timespec now;
  for (int i = 0; i < 10000; i++) clock_gettime(CLOCK_MONOTONIC, &now);
}
// They read the clock, too.
NOINLINE void begins(int argc, char **argv) { begin(argc, argv); NO_TAIL_CALL(); }
NOINLINE int is_running(void) { return running(); }
int main(int argc, char **argv) {
  begins(argc, argv);
  puts("through main;~(read_clock|begins|is_running);~(__vdso_clock_gettime|\\[vdso\\].*|linux-vdso.*)");
  puts("complete");
  while (is_running()) read_clock();
  return 0;
}

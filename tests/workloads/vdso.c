// SPDX-License-Identifier: Apache-2.0
// Most samples are inside the vDSO.
#include "workload.h"
NOINLINE void read_clock(void) {
  struct timespec now;
  for (int i = 0; i < 10000; i++) clock_gettime(CLOCK_MONOTONIC, &now);
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("through main;read_clock;~(__vdso_clock_gettime|\\[vdso\\].*|linux-vdso.*)");
  puts("complete");
  while (running()) read_clock();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// `jumps` is gone when `target` runs: a correct stack does not have it.
#include "workload.h"
NOINLINE void target(void) { burn(200000); }
NOINLINE void jumps(void) { target(); }
NOINLINE void caller(void) { jumps(); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;caller;target");
  puts("absent jumps 1");
  while (running()) caller();
  return 0;
}

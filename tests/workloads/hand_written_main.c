// SPDX-License-Identifier: Apache-2.0
// Calls assembly that moves its stack pointer by hand and says so in CFI.
#include "workload.h"
void hand_written(void (*callback)(void));
NOINLINE void below_assembly(void) { burn(200000); }
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;hand_written;below_assembly");
  puts("complete");
  while (running()) hand_written(below_assembly);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// 70 % here, 30 % there: the same loop at the same alignment (else one of them runs at half the speed).
#include "workload.h"
NOINLINE __attribute__((aligned(64))) void hot(void) { burn(70000); }
NOINLINE __attribute__((aligned(64))) void warm(void) { burn(30000); }
int main(int argc, char** argv) {
  begin(argc, argv);
  puts("split hot 70 warm 30");
  puts("chain main;hot");
  puts("chain main;warm");
  while (running())
    for (int i = 0; i < 20; i++) {
      hot();
      warm();
    }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Works for argv[1] seconds of CPU time without a word: one of an exec storm.
#include "workload.h"
NOINLINE void short_leaf(void) { burn(200000); }
NOINLINE void short_work(void) { short_leaf(); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  begin(argc, argv);
  while (running()) short_work();
  return 0;
}

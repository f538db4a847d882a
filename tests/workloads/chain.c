// SPDX-License-Identifier: Apache-2.0
// Five functions deep, no frame pointers. Built in every way a binary can be built.
#include "workload.h"
NOINLINE void leaf(void) { burn(2000000); }
NOINLINE void third(void) { leaf(); NO_TAIL_CALL(); }
NOINLINE void second(void) { third(); NO_TAIL_CALL(); }
NOINLINE void first(void) { second(); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;first;second;third;leaf");
  puts("share leaf 95");
  puts("complete");
  while (running()) first();
  return 0;
}

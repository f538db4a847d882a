// SPDX-License-Identifier: Apache-2.0
// A 32-bit program, built with frame pointers and at fixed addresses. Nobody names its functions for us, so it says where they are.
#include "workload.h"
// In this order in memory (-O0 keeps it): a function ends where the next begins.
NOINLINE void leaf(void) { burn(200000); }
NOINLINE void third(void) { leaf(); NO_TAIL_CALL(); }
NOINLINE void second(void) { third(); NO_TAIL_CALL(); }
NOINLINE void first(void) { second(); NO_TAIL_CALL(); }
NOINLINE void last(void) { burn(1); }
int main(int argc, char **argv) {
  begin(argc, argv);
  printf("addresses %p-%p;%p-%p;%p-%p;%p-%p\n", (void *)first, (void *)last, (void *)second, (void *)first, (void *)third, (void *)second,
         (void *)leaf, (void *)third);
  while (running()) first();
  last();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A call that never returns is the last instruction of its function: the return address belongs to the next function.
#include <setjmp.h>

#include "workload.h"
static jmp_buf back;
__attribute__((noreturn)) NOINLINE void never_returns(void) {
  burn(500000);
  longjmp(back, 1);
}
__attribute__((noreturn)) NOINLINE void gives_up(void) { never_returns(); }
NOINLINE void next_in_memory(void) { burn(1); }
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;gives_up;never_returns");
  puts("absent next_in_memory 1");
  puts("complete");
  while (running())
    if (setjmp(back) == 0) gives_up();
  next_in_memory();
  return 0;
}

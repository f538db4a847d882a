// SPDX-License-Identifier: Apache-2.0
// Stacks made by makecontext: they end at the coroutine's first function.
#include <ucontext.h>

#include "workload.h"
static ucontext_t main_context, coroutine_context;
NOINLINE void coroutine_leaf(void) { burn(500000); }
NOINLINE void coroutine_work(void) { coroutine_leaf(); NO_TAIL_CALL(); }
static void coroutine(void) {
  for (;;) {
    coroutine_work();
    swapcontext(&coroutine_context, &main_context);
  }
}
int main(int argc, char **argv) {
  static char stack[1 << 16];
  begin(argc, argv);
  getcontext(&coroutine_context);
  coroutine_context.uc_stack.ss_sp = stack;
  coroutine_context.uc_stack.ss_size = sizeof stack;
  makecontext(&coroutine_context, coroutine, 0);
  puts("chain coroutine;coroutine_work;coroutine_leaf");
  puts("complete");
  while (running()) swapcontext(&main_context, &coroutine_context);
  return 0;
}

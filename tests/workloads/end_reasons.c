// SPDX-License-Identifier: Apache-2.0
// Stacks that end in the way argv[2] says: made-up return addresses below a function that works and then leaves by longjmp.
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"
extern char twice_return[], outermost_return[], framed_return[], no_rule_return[], table_less_return[];
__attribute__((noreturn)) void jump_with_stack(void *stack, void (*function)(void));

static jmp_buf back;
__attribute__((noreturn)) NOINLINE void works_and_leaves(void) {
  burn(3000000);
  longjmp(back, 1);
}

// The last words of a stack; nothing can be read behind it.
enum { kWords = 8 };
static void **make_stack_end(void) {
  char *pages = mmap(NULL, 5 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + (4 << 12), 1 << 12, PROT_NONE) != 0) abort();
  return (void **)(pages + (4 << 12)) - kWords;
}

int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "outermost";
  void **stack = make_stack_end();
  void *unmapped = (void *)0x1000;
  begin(argc, argv);
  // twice_return's caller is in stack[5].
  stack[0] = twice_return;
  stack[2] = &stack[3];
  stack[3] = &stack[6];
  if (strcmp(how, "outermost") == 0) stack[0] = outermost_return;
  else if (strcmp(how, "zero") == 0) stack[0] = NULL;
  else if (strcmp(how, "unreadable") == 0) stack[0] = framed_return;
  else if (strcmp(how, "bad-frame-pointer") == 0) stack[0] = table_less_return;
  else if (strcmp(how, "refused") == 0) stack[0] = unmapped;
  else if (strcmp(how, "deferred") == 0) stack[5] = outermost_return;
  else if (strcmp(how, "unmapped") == 0) stack[5] = unmapped;
  else if (strcmp(how, "no-rule") == 0) stack[5] = no_rule_return;
  else return 2;
  puts("share works_and_leaves 90");
  while (running())
    if (setjmp(back) == 0) jump_with_stack(stack, works_and_leaves);
  return 0;
}

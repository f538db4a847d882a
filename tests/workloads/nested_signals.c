// SPDX-License-Identifier: Apache-2.0
// A signal on an alternate stack, inside another signal's handler, whose interrupted instruction is anywhere in a function.
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "workload.h"
NOINLINE void inner_work(void) { burn(2000000); }
static void on_inner(int number) { (void)number; inner_work(); NO_TAIL_CALL(); }
NOINLINE void outer_work(void) { raise(SIGUSR2); NO_TAIL_CALL(); }
static void on_outer(int number) { (void)number; outer_work(); NO_TAIL_CALL(); }
NOINLINE void interrupted_anywhere(void) { burn(100000); }
int main(int argc, char **argv) {
  static char stack[1 << 16];
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction inner = {.sa_handler = on_inner, .sa_flags = SA_ONSTACK}, outer = {.sa_handler = on_outer, .sa_flags = SA_RESTART};
  struct itimerval often = {{0, 3000}, {0, 3000}};
  begin(argc, argv);
  sigaltstack(&alternate, NULL);
  sigaction(SIGUSR2, &inner, NULL);
  sigaction(SIGALRM, &outer, NULL);
  puts("through main;on_outer;outer_work;on_inner;inner_work");
  puts("chain main;interrupted_anywhere");
  puts("complete");
  setitimer(ITIMER_REAL, &often, NULL);
  while (running()) interrupted_anywhere();
  return 0;
}

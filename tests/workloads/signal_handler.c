// SPDX-License-Identifier: Apache-2.0
// Time is spent in a handler that interrupted `interrupted`.
#include <signal.h>

#include "workload.h"
NOINLINE void handler_work(void) { burn(2000000); }
static void on_signal(int number) {
  (void)number;
  handler_work();
  NO_TAIL_CALL();
}
NOINLINE void interrupted(void) {
  raise(SIGUSR1);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  signal(SIGUSR1, on_signal);
  puts("through main;interrupted;on_signal;handler_work");
  puts("share handler_work 95");
  puts("complete");
  while (running()) interrupted();
  return 0;
}

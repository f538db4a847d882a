// SPDX-License-Identifier: Apache-2.0
// The child of vfork runs on its parent's stack and memory.
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"
// So long that what vfork() and exit cost the kernel is no tenth of it, on a fast processor either.
NOINLINE void child_work(void) { burn(20000000); }
NOINLINE void spawn(void) {
  int status;
  pid_t child = vfork();
  if (child == 0) {
    child_work();
    _exit(0);
  }
  waitpid(child, &status, 0);
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;spawn;child_work");
  puts("share child_work 90");
  while (running()) spawn();
  return 0;
}

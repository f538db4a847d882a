// SPDX-License-Identifier: Apache-2.0
// A fork server: four children that never exec.
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"
NOINLINE void worker_leaf(void) { burn(2000000); }
NOINLINE void worker(void) {
  while (running()) worker_leaf();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;worker;worker_leaf");
  puts("share worker_leaf 90");
  fflush(stdout);
  for (int i = 0; i < 4; i++) {
    if (fork() == 0) {
      worker();
      _exit(0);
    }
  }
  while (wait(NULL) > 0) continue;
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Deletes its own file and executes /proc/self/exe, as container run times do: works a fifth of argv[1]
// seconds in each of five lives.
#include <string.h>
#include <unistd.h>

#include "workload.h"
NOINLINE void self_leaf(void) { burn(200000); }
NOINLINE void self_work(void) {
  while (running()) self_leaf();
}
int main(int argc, char **argv) {
  const int life = argc > 2 ? atoi(argv[2]) : 0;
  begin(argc, argv);
  if (life == 0) {
    puts("chain main;self_work;self_leaf");
    puts("share self_leaf 80");
    fflush(stdout);
    unlink(argv[0]);
  }
  workload_seconds /= 5;
  self_work();
  if (life < 4) {
    char next[16];
    snprintf(next, sizeof next, "%d", life + 1);
    execl("/proc/self/exe", argv[0], argv[1], next, (char *)NULL);
    abort();
  }
  return 0;
}

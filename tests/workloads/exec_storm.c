// SPDX-License-Identifier: Apache-2.0
// argv[2] processes of argv[1] seconds of CPU time each, two at a time.
#include <spawn.h>
#include <sys/wait.h>

#include "workload.h"
extern char **environ;
int main(int argc, char **argv) {
  int wanted = argc > 2 ? atoi(argv[2]) : 100;
  char *arguments[] = {SHORT_LIVED, argc > 1 ? argv[1] : "0.02", NULL};
  begin(argc, argv);
  puts("chain main;short_work;short_leaf");
  for (int started = 0, alive = 0; started < wanted || alive > 0;) {
    pid_t child;
    if (started < wanted && alive < 2) {
      if (posix_spawn(&child, SHORT_LIVED, NULL, NULL, arguments, environ) != 0) abort();
      started++;
      alive++;
    } else if (wait(NULL) > 0) {
      alive--;
    }
  }
  return 0;
}

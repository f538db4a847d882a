// SPDX-License-Identifier: Apache-2.0
// spawner SECONDS PROGRAM ARGUMENT: one process after the other for SECONDS; prints how many.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
int main(int argc, char **argv) {
  if (argc < 4) return 2;
  char *arguments[] = {argv[2], argv[3], NULL};
  long started = 0;
  for (const double end = now() + atof(argv[1]); now() < end; started++) {
    pid_t child;
    if (posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) != 0) return 1;
    waitpid(child, NULL, 0);
  }
  printf("%ld\n", started);
  return 0;
}

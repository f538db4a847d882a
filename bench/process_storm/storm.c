// SPDX-License-Identifier: Apache-2.0
// storm COUNT PARALLEL MILLISECONDS PROGRAM…: starts COUNT processes, PARALLEL at a time, the programs in turn; each is told to work for
// MILLISECONDS. Prints what is true of them: "processes N cpu_seconds S elapsed_seconds T" (CPU time of all children).
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const int count = atoi(argv[1]), parallel = atoi(argv[2]), programs = argc - 4;
  const double begin = now();
  for (int started = 0, alive = 0; started < count || alive > 0;) {
    if (started < count && alive < parallel) {
      char *program = argv[4 + started % programs];
      char *arguments[] = {program, argv[3], NULL};
      pid_t child;
      if (posix_spawn(&child, program, NULL, NULL, arguments, environ) != 0) return 1;
      started++;
      alive++;
    } else if (wait(NULL) > 0) {
      alive--;
    }
  }
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("processes %d cpu_seconds %.3f elapsed_seconds %.3f\n", count, seconds(used.ru_utime) + seconds(used.ru_stime), now() - begin);
  return 0;
}

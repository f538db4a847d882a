// SPDX-License-Identifier: Apache-2.0
// spawner SECONDS PROGRAM ARGUMENT: one process after the other, for a second, and then for SECONDS that count; prints how many,
// and the CPU seconds of all of them and itself.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double cpu_seconds(int who) {
  struct rusage used;
  getrusage(who, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}
static double all_cpu_seconds(void) { return cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN); }
int main(int argc, char **argv) {
  if (argc < 4) return 2;
  char *arguments[] = {argv[2], argv[3], NULL};
  long started = 0;
  double used = 0;
  const double begin = now() + 1, end = begin + atof(argv[1]);
  for (double time; (time = now()) < end;) {
    if (time < begin) {
      used = all_cpu_seconds();
    } else {
      started++;
    }
    pid_t child;
    if (posix_spawn(&child, argv[2], NULL, NULL, arguments, environ) != 0) return 1;
    waitpid(child, NULL, 0);
  }
  printf("%ld %f\n", started, all_cpu_seconds() - used);
  return 0;
}

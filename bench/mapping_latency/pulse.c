// SPDX-License-Identifier: Apache-2.0
// pulse COUNT PAUSE_MS MILLISECONDS [PROGRAM]: COUNT times a process that works for MILLISECONDS, a pause between them: PROGRAM, or
// without one a child that never execs and works in fork_work;fork_leaf. Prints "cpu_seconds S" of all of them.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
__attribute__((noinline, noclone)) void fork_leaf(void) {
  for (long i = 0; i < 100000; i++) __asm__ volatile("" : "+r"(i));
}
__attribute__((noinline, noclone)) void fork_work(double end_ms) {
  while (now_ms() < end_ms) fork_leaf();
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const int count = atoi(argv[1]);
  char *arguments[] = {argc > 4 ? argv[4] : NULL, argv[3], NULL};
  for (int i = 0; i < count; i++) {
    pid_t child = 0;
    if (argc > 4) {
      if (posix_spawn(&child, argv[4], NULL, NULL, arguments, environ) != 0) return 1;
    } else if ((child = fork()) == 0) {
      prctl(PR_SET_NAME, "storm_child_fork");
      fork_work(now_ms() + atof(argv[3]));
      _exit(0);
    }
    waitpid(child, NULL, 0);
    usleep((useconds_t)(atof(argv[2]) * 1e3));
  }
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("cpu_seconds %.3f\n", (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec +
                                  ((double)used.ru_utime.tv_usec + (double)used.ru_stime.tv_usec) * 1e-6);
  return 0;
}

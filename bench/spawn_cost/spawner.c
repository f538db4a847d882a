// SPDX-License-Identifier: Apache-2.0
// spawner FILE INDEX PROGRAM ARGUMENT: one process after the other, until it is killed. Counts in the INDEX-th 64 bytes of FILE, which other
// spawners share: how many have ended, and the CPU time of all of them and itself in ns.
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

static int64_t cpu_ns(int who) {
  struct rusage used;
  getrusage(who, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * INT64_C(1000000000) + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * INT64_C(1000);
}
int main(int argc, char **argv) {
  if (argc < 5) return 2;
  int file = open(argv[1], O_RDWR);
  volatile int64_t *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || counters == MAP_FAILED) return 1;
  volatile int64_t *mine = counters + 8 * atoi(argv[2]);
  char *arguments[] = {argv[3], argv[4], NULL};
  for (;;) {
    pid_t child;
    if (posix_spawn(&child, argv[3], NULL, NULL, arguments, environ) != 0) return 1;
    waitpid(child, NULL, 0);
    mine[1] = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
    mine[0]++;
  }
}

// SPDX-License-Identifier: Apache-2.0
// memfds SECONDS: maps one executable file in memory after another, with long names, as fast as it can. Says "running".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  (void)argc;
  char name[240];
  puts("running");
  fflush(stdout);
  const time_t end = time(0) + atoi(argv[1]);
  for (long k = 0; (k & 255) != 0 || time(0) < end; ++k) {
    memset(name, 'm', sizeof name - 1);
    name[sizeof name - 1] = 0;
    name[snprintf(name, sizeof name, "%ld", k)] = 'x';
    const int fd = memfd_create(name, 0);
    if (ftruncate(fd, 4096) != 0) return 1;
    void *at = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    munmap(at, 4096);
    close(fd);
  }
}

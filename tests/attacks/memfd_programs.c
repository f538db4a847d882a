// SPDX-License-Identifier: Apache-2.0
// memfd_programs SECONDS PROGRAM: maps one copy of the program in memory after another, executable, and keeps 20,000 of them. Says "running".
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct stat st;
  if (argc < 3) return 2;
  const int in = open(argv[2], O_RDONLY);
  if (fstat(in, &st) != 0) return 3;
  const void *program = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, in, 0);
  puts("running");
  fflush(stdout);
  const time_t end = time(0) + atoi(argv[1]);
  for (long k = 0; time(0) < end; ++k) {
    if (k >= 20000) {
      usleep(10000);
      continue;
    }
    const int fd = memfd_create("m", 0);
    if (write(fd, program, st.st_size) != st.st_size) return 4;
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    close(fd);
  }
}

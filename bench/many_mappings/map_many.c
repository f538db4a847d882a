// SPDX-License-Identifier: Apache-2.0
// map_many PROCESSES MAPPINGS SECONDS: so many processes with so many executable mappings each (pages of this program's file and
// anonymous ones in turn, gaps between them). Prints "ready" when all are there.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static void map(int count) {
  int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  char *room = mmap(NULL, (size_t)count * 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) abort();
  munmap(room, (size_t)count * 3 * 4096);
  for (int i = 0; i < count; i++) {
    char *at = room + (size_t)i * 3 * 4096;
    const int anonymous = i % 8 == 0;
    if (mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | (anonymous ? MAP_ANONYMOUS : 0), anonymous ? -1 : file, 0) != at) {
      perror("mmap");
      exit(1);
    }
  }
}
int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const int processes = atoi(argv[1]);
  int ready[2];
  if (pipe(ready) != 0) return 1;
  for (int i = 0; i < processes; i++) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      map(atoi(argv[2]));
      if (write(ready[1], "x", 1) != 1) return 1;
      sleep((unsigned)atoi(argv[3]));
      return 0;
    }
  }
  char one;
  for (int i = 0; i < processes; i++)
    if (read(ready[0], &one, 1) != 1) return 1;
  puts("ready");
  fflush(stdout);
  sleep((unsigned)atoi(argv[3]));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// many_mappings SECONDS PROCESSES: processes that sleep, each with 60,000 executable mappings of a file whose name has 3,900 bytes. Says "running".
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  (void)argc;
  char name[251];
  memset(name, 'p', 250);
  name[250] = 0;
  for (int i = 0; i < 15; ++i) {
    mkdir(name, 0755);
    if (chdir(name) != 0) return 1;
  }
  const int fd = open("f", O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, 8192) != 0) return 2;
  for (int i = 0; i < 60000 && mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (i & 1) * 4096) != MAP_FAILED; ++i) {
  }
  const time_t end = time(0) + atoi(argv[1]);
  for (int i = 0; i < atoi(argv[2]); ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (time(0) < end) usleep(200000);
    _exit(0);
  }
  puts("running");
  fflush(stdout);
  while (wait(0) > 0) {
  }
}

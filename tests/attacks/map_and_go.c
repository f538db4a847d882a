// SPDX-License-Identifier: Apache-2.0
// map_and_go FILE PROGRAM ARGUMENT: twenty processes map FILE executable and have ended when anybody asks whose they were; then it is PROGRAM.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  (void)argc;
  for (int i = 0; i < 20; ++i) {
    if (fork() == 0) {
      volatile char *code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[1], O_RDONLY), 0);
      _exit(code[0]);
    }
    wait(0);
  }
  usleep(200000);
  return execl(argv[2], argv[2], argv[3], (char *)0);
}

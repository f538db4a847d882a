// SPDX-License-Identifier: Apache-2.0
// Samples hit kernel mode; the user stack below must be whole.
#include <fcntl.h>
#include <unistd.h>

#include "workload.h"
static char buffer[1 << 20];
NOINLINE void enter_kernel(int fd) {
  if (read(fd, buffer, sizeof buffer) < 0) abort();
  NO_TAIL_CALL();
}
NOINLINE void ask(int fd) { enter_kernel(fd); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  int fd = open("/dev/zero", O_RDONLY);
  begin(argc, argv);
  puts("order main;ask;enter_kernel;~(__x64_sys_read|ksys_read|vfs_read|read_iter_zero|read_zero).*");
  puts("chain main;ask;enter_kernel");
  puts("complete");
  while (running()) ask(fd);
  return 0;
}

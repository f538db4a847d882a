// SPDX-License-Identifier: Apache-2.0
// Executes a program that has no path: argv[2] copied into anonymous memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"
extern char **environ;
int main(int argc, char **argv) {
  char buffer[1 << 16];
  ssize_t size;
  int to = memfd_create("workload", MFD_CLOEXEC), from = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
  if (to < 0 || from < 0) abort();
  while ((size = read(from, buffer, sizeof buffer)) > 0)
    if (write(to, buffer, (size_t)size) != size) abort();
  fexecve(to, argv, environ);
  abort();
}

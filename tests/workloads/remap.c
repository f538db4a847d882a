// SPDX-License-Identifier: Apache-2.0
// Code that moves: a part of this program is mapped a second time, runs there, is moved with mremap (no kernel event tells of it) and
// runs at its new place; something else takes the old one.
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

// Alone on its pages, without data or calls.
__attribute__((noinline, section(".text.moved"), aligned(4096))) void moved_leaf(void) { burn(200000); }

NOINLINE void run_copy(void (*code)(void)) {
  code();
  NO_TAIL_CALL();
}
extern char __executable_start[];
int main(int argc, char **argv) {
  const uintptr_t offset = (uintptr_t)moved_leaf - (uintptr_t)__executable_start;
  const size_t size = 4096;
  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  begin(argc, argv);
  char *first = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, (off_t)offset);
  char *second = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED || second == MAP_FAILED) abort();
  puts("chain main;run_copy;moved_leaf");
  puts("share moved_leaf 95");
  while (worked() < workload_seconds / 4) run_copy((void (*)(void))(uintptr_t)first);
  if (mremap(first, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, second) != second) abort();
  if (mmap(first, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != first) abort();
  while (running()) run_copy((void (*)(void))(uintptr_t)second);
  return 0;
}

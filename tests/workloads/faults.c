// SPDX-License-Identifier: Apache-2.0
// Touches pages that nobody has touched, in one function, and computes in another. Prints how many pages it touched, and the CPU time of both.
#include <sys/mman.h>

#include "workload.h"

#define PAGES 4096

__attribute__((noinline)) static void touch(volatile char *memory) {
  for (long i = 0; i < PAGES; i++) memory[i * 4096] = 1;
}

__attribute__((noinline)) static unsigned long compute(long rounds) {
  volatile unsigned long sum = 0;
  for (long i = 0; i < rounds; i++) sum += (unsigned long)i * 7;
  return sum;
}

int main(int argc, char **argv) {
  long touched = 0;
  double touching = 0, computing = 0;  // seconds of CPU time
  begin(argc, argv);
  while (running()) {
    char *memory = mmap(0, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, PAGES * 4096L, MADV_NOHUGEPAGE);
    const double before = worked();
    touch(memory);
    touching += worked() - before;
    munmap(memory, PAGES * 4096L);
    touched += PAGES;
    const double then = worked();
    compute(20000000);
    computing += worked() - then;
  }
  printf("touched %ld\ntouching %f\ncomputing %f\n", touched, touching, computing);
  return 0;
}

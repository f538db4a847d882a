// SPDX-License-Identifier: Apache-2.0
// Runs code that it has written itself, which no file names: what a JIT compiler does that writes no map.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

int main(int argc, char **argv) {
  static const unsigned char kCountTo256M[] = {0x31, 0xc0, 0xff, 0xc0, 0x3d, 0, 0, 0, 0x10, 0x75, 0xf7, 0xc3};  // xor; inc; cmp; jne; ret
  void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) abort();
  memcpy(code, kCountTo256M, sizeof kCountTo256M);
  begin(argc, argv);
  puts("running");
  fflush(stdout);
  while (running()) ((void (*)(void))(uintptr_t)code)();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// random_stacks SECONDS: JIT code below a chain of 1,100 callers at random addresses of it, another one each millisecond. Says "running".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv) {
  (void)argc;
  static const unsigned char kSpin[] = {0x55, 0x48, 0x89, 0xfd, 0x48, 0x89, 0xf1, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};  // rbp = first argument
  const uint64_t span = 1ULL << 36;
  unsigned char *code = mmap(0, span, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (code == MAP_FAILED) return 1;
  memcpy(code, kSpin, sizeof kSpin);
  puts("running");
  fflush(stdout);
  const time_t end = time(0) + atoi(argv[1]);
  static uint64_t frames[2202];
  for (uint64_t x = 88172645463325252ULL; time(0) < end;) {
    for (int i = 0; i < 1100; ++i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      frames[2 * i] = (uint64_t)&frames[2 * i + 2];
      frames[2 * i + 1] = (uint64_t)code + x % span;
    }
    ((void (*)(uint64_t *, uint64_t))code)(frames, 1000000);
  }
}

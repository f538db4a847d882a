// SPDX-License-Identifier: Apache-2.0
// jit_code SECONDS COMMAND [dump]: a thread whose name holds a newline runs code at 0x700000000 that no file names, after COMMAND, which finds
// its pid in $P; "dump": with jit-$P.dump of its directory mapped.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static const unsigned char kCount[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};  // push; mov; mov; dec; jnz; pop; ret
  char pid[16];
  if (argc < 3) return 2;
  snprintf(pid, sizeof pid, "%d", getpid());
  setenv("P", pid, 1);
  if (system(argv[2]) != 0) return 3;
  void *code = mmap((void *)0x700000000, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  memcpy(code, kCount, sizeof kCount);
  if (argc > 3) {
    char dump[32];
    snprintf(dump, sizeof dump, "jit-%s.dump", pid);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open(dump, O_RDONLY), 0) == MAP_FAILED) return 4;
  }
  prctl(PR_SET_NAME, "a\nb");
  puts("running");
  fflush(stdout);
  const time_t end = time(NULL) + atoi(argv[1]);
  while (time(NULL) < end) ((void (*)(uint64_t))code)(10000000);
}

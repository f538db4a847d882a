// SPDX-License-Identifier: Apache-2.0
// A stack frame of 1 MiB between two calls.
#include <string.h>

#include "workload.h"
NOINLINE void below_big_frame(char *bytes) {
  bytes[0] = 1;
  burn(200000);
}
NOINLINE void big_frame(void) {
  char bytes[1 << 20];
  below_big_frame(bytes);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;big_frame;below_big_frame");
  puts("complete");
  while (running()) big_frame();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// spin SECONDS: says "running" and computes in hot(), which may be linked from elsewhere.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

volatile unsigned long x;
__attribute__((noinline, weak)) void hot(void) {
  for (int i = 0; i < 1000000; ++i) x += (unsigned long)i;
}
int main(int argc, char **argv) {
  (void)argc;
  const time_t end = time(0) + atoi(argv[1]);
  puts("running");
  fflush(stdout);
  while (time(0) < end) hot();
}

// SPDX-License-Identifier: Apache-2.0
// Works for argv[1] milliseconds (20), three functions deep, and leaves. CHILD makes its functions' names its own.
#include <stdlib.h>
#include <time.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NOINLINE __attribute__((noinline, noclone))

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
NOINLINE void PASTE(leaf_, CHILD)(void) {
  for (long i = 0; i < 100000; i++) __asm__ volatile("" : "+r"(i));
}
NOINLINE void PASTE(middle_, CHILD)(void) {
  PASTE(leaf_, CHILD)();
  __asm__ volatile("" ::: "memory");
}
NOINLINE void PASTE(work_, CHILD)(double end_ms) {
  while (now_ms() < end_ms) PASTE(middle_, CHILD)();
}
int main(int argc, char **argv) {
  PASTE(work_, CHILD)(now_ms() + (argc > 1 ? atof(argv[1]) : 20));
  return 0;
}

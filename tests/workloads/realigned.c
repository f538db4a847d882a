// SPDX-License-Identifier: Apache-2.0
// Stacks that a function aligns for vectors, with alloca above: the CFA is found through a saved pointer.
#include <alloca.h>
#include <string.h>

#include "workload.h"
typedef float vector __attribute__((vector_size(32)));
NOINLINE void realigned_leaf(volatile vector *v, char *p, size_t n) {
  memset(p, 1, n);
  for (int i = 0; i < 1000; i++) { *v = *v + *v; }
  burn(100000);
}
NOINLINE void realigned(size_t n) {
  volatile vector v __attribute__((aligned(64))) = {1};
  char *p = alloca(n);
  realigned_leaf(&v, p, n);
  NO_TAIL_CALL();
}
// Its CFA is relative to rbp, which realigned() has restored before it returns.
NOINLINE void calls_realigned(size_t n) {
  volatile char *p = alloca(n);
  p[0] = 1;
  realigned(n);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;calls_realigned;realigned;realigned_leaf");
  puts("complete");
  for (size_t n = 0; running(); n = (n + 40) % 4000) calls_realigned(n + 8);
  return 0;
}

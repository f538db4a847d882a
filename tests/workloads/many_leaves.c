// SPDX-License-Identifier: Apache-2.0
// 300 functions of a millisecond each, one after the other, again and again: more names than fit into the end of a recording unseen.
#include "workload.h"

#define L(n) NOINLINE void leaf_##n(void) { burn(700000); }
#define T(n) L(n##0) L(n##1) L(n##2) L(n##3) L(n##4) L(n##5) L(n##6) L(n##7) L(n##8) L(n##9)
#define H(n) T(n##0) T(n##1) T(n##2) T(n##3) T(n##4) T(n##5) T(n##6) T(n##7) T(n##8) T(n##9)
H(1) H(2) H(3)
#undef L
#define L(n) leaf_##n();

int main(int argc, char** argv) {
  begin(argc, argv);
  puts("leaves 300");
  while (running()) {
    H(1) H(2) H(3)
  }
  return 0;
}

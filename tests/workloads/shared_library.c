// SPDX-License-Identifier: Apache-2.0
// program -> library -> program. How fast each half runs is the processor's affair, so the CPU time of both is counted.
#include "workload.h"
void library_entry(void (*callback)(void));
static double in_library, in_callback, entered;
NOINLINE void callback(void) {
  const double called = thread_seconds();
  burn(about(500000));
  in_library += called - entered;
  in_callback += thread_seconds() - called;
}
NOINLINE void into_library(void) {
  entered = thread_seconds();
  library_entry(callback);
  NO_TAIL_CALL();
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;into_library;library_entry;library_leaf");
  puts("chain main;into_library;library_entry;callback");
  while (running()) into_library();
  printf("split library_leaf %.3f callback %.3f\n", in_library, in_callback);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// program -> library -> program.
#include "workload.h"
void library_entry(void (*callback)(void));
NOINLINE void callback(void) { burn(200000); }
NOINLINE void into_library(void) { library_entry(callback); NO_TAIL_CALL(); }
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;into_library;library_entry;library_leaf");
  puts("chain main;into_library;library_entry;callback");
  puts("split library_leaf 50 callback 50");
  while (running()) into_library();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Two libraries that take turns at one address.
#include <dlfcn.h>
#include <stdint.h>

#include "workload.h"
NOINLINE uintptr_t load_and_run(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
  void (*run)(void) = (void (*)(void))dlsym(library, "plugin");
  run();
  dlclose(library);
  return (uintptr_t)run;
}
NOINLINE uintptr_t take_one(void) {
  const uintptr_t at = load_and_run(PLUGIN_ONE);
  NO_TAIL_CALL();
  return at;
}
NOINLINE uintptr_t take_two(void) {
  const uintptr_t at = load_and_run(PLUGIN_TWO);
  NO_TAIL_CALL();
  return at;
}
int main(int argc, char **argv) {
  begin(argc, argv);
  // Of a turn of 100 ms, about one is named as the library that was there before.
  // Until the tracker has looked, the old library's names (docs/processes.md): 1 to 6 % of the samples, 31 % without the frequent looks.
  puts("chain main;take_one;load_and_run;plugin;one_entry;one_leaf min 90");
  puts("chain main;take_two;load_and_run;plugin;two_entry;two_leaf min 90");
  puts("split one_leaf 50 two_leaf 50 tolerance 10");
  int same = 1;
  while (running()) same &= take_one() == take_two();
  puts(same ? "# both were at the same address" : "# the addresses differed");
  return 0;
}

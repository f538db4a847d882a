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
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("chain main;load_and_run;plugin;one_entry;one_leaf");
  puts("chain main;load_and_run;plugin;two_entry;two_leaf");
  puts("split one_leaf 50 two_leaf 50 tolerance 10");
  int same = 1;
  while (running()) same &= load_and_run(PLUGIN_ONE) == load_and_run(PLUGIN_TWO);
  puts(same ? "# both were at the same address" : "# the addresses differed");
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A fork server whose two workers, without exec, load different libraries at one address.
#include <dlfcn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"
static void *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) abort();
  return dlsym(library, "plugin");
}
NOINLINE void worker_one(void (*run)(void)) {
  while (running()) run();
}
NOINLINE void worker_two(void (*run)(void)) {
  while (running()) run();
}
int main(int argc, char **argv) {
  int tell[2];
  begin(argc, argv);
  puts("chain main;worker_one;plugin;one_entry;one_leaf");
  puts("chain main;worker_two;plugin;two_entry;two_leaf");
  puts("split one_leaf 50 two_leaf 50 tolerance 10");
  fflush(stdout);
  if (pipe(tell) != 0) abort();
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      void (*run)(void) = (void (*)(void))load(i == 0 ? PLUGIN_ONE : PLUGIN_TWO);
      if (write(tell[1], &run, sizeof run) != sizeof run) abort();
      if (i == 0) worker_one(run);
      else worker_two(run);
      _exit(0);
    }
  }
  void *at[2];
  if (read(tell[0], at, sizeof at[0]) <= 0 || read(tell[0], at + 1, sizeof at[1]) <= 0) abort();
  puts(at[0] == at[1] ? "# both at the same address" : "# the addresses differ");
  while (wait(NULL) > 0) continue;
  return 0;
}

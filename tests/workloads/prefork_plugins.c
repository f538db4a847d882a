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
  int tells[2][2];
  begin(argc, argv);
  puts("chain main;worker_one;plugin;one_entry;one_leaf");
  puts("chain main;worker_two;plugin;two_entry;two_leaf");
  fflush(stdout);
  for (int i = 0; i < 2; i++) {
    int *tell = tells[i];
    if (pipe(tell) != 0) abort();
    if (fork() == 0) {
      void (*run)(void) = (void (*)(void))load(i == 0 ? PLUGIN_ONE : PLUGIN_TWO);
      if (write(tell[1], &run, sizeof run) != sizeof run) abort();
      const double before = used_seconds();
      if (i == 0) worker_one(run);
      else worker_two(run);
      const double in_library = used_seconds() - before;
      _exit(write(tell[1], &in_library, sizeof in_library) != sizeof in_library);
    }
  }
  void *at[2];
  double used[2];
  for (int i = 0; i < 2; i++)
    if (read(tells[i][0], at + i, sizeof at[i]) <= 0 || read(tells[i][0], used + i, sizeof used[i]) <= 0) abort();
  puts(at[0] == at[1] ? "# both at the same address" : "# the addresses differ");
  printf("split one_leaf %.3f two_leaf %.3f\n", used[0], used[1]);
  while (wait(NULL) > 0) continue;
  return 0;
}

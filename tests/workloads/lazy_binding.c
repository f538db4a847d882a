// SPDX-License-Identifier: Apache-2.0
// Time goes to _dl_runtime_resolve and below: hand-written frames with a dynamic size.
#include <dlfcn.h>

#include "workload.h"
NOINLINE void load_and_bind(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) abort();
  ((void (*)(void))dlsym(library, "bind_all"))();
  dlclose(library);
}
int main(int argc, char **argv) {
  begin(argc, argv);
  puts("through main;load_and_bind;bind_all;~_dl_runtime_resolve.*");
  puts("complete");
  while (running()) load_and_bind(LIBRARY);
  return 0;
}

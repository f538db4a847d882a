// SPDX-License-Identifier: Apache-2.0
// The first thread leaves with pthread_exit; the process goes on in another, which maps a library after that.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "workload.h"
NOINLINE void survivor_leaf(void) { burn(200000); }
static void *survivor(void *unused) {
  (void)unused;
  usleep(100000);
  void *library = dlopen(PLUGIN_ONE, RTLD_NOW | RTLD_LOCAL);
  void (*run)(void) = library == NULL ? NULL : (void (*)(void))dlsym(library, "plugin");
  if (run == NULL) abort();
  while (running()) {
    run();
    for (int i = 0; i < 500; i++) survivor_leaf();  // as much as the library does
  }
  exit(0);
}
int main(int argc, char **argv) {
  pthread_t thread;
  begin(argc, argv);
  puts("chain survivor;survivor_leaf");
  puts("chain survivor;plugin;one_entry;one_leaf");
  puts("complete");
  fflush(stdout);
  if (pthread_create(&thread, NULL, survivor, NULL) != 0) abort();
  pthread_exit(NULL);
}

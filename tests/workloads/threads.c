// SPDX-License-Identifier: Apache-2.0
// Four threads with names of their own.
#include <pthread.h>

#include "workload.h"
NOINLINE void thread_leaf(void) { burn(200000); }
NOINLINE void thread_work(void) { thread_leaf(); NO_TAIL_CALL(); }
static void *thread_main(void *name) {
  pthread_setname_np(pthread_self(), name);
  while (running()) thread_work();
  return NULL;
}
int main(int argc, char **argv) {
  static char *const names[] = {"red", "green", "blue", "yellow"};
  pthread_t threads[4];
  begin(argc, argv);
  puts("chain thread_main;thread_work;thread_leaf");
  for (int i = 0; i < 4; i++) printf("order ~%s \\(\\d+\\);thread_main;thread_leaf\n", names[i]);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread_main, names[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  return 0;
}

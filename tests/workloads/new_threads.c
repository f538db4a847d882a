// SPDX-License-Identifier: Apache-2.0
// Makes and joins threads, one after the other: many are sampled before their first instruction, in clone.
#include <pthread.h>

#include "workload.h"
NOINLINE void *thread_work(void *ignored) { return ignored; }
NOINLINE void make_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, thread_work, NULL) == 0) pthread_join(thread, NULL);
}
int main(int argc, char **argv) {
  begin(argc, argv);
  while (running()) make_thread();
  return 0;
}

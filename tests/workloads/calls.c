// SPDX-License-Identifier: Apache-2.0
// Threads that call the kernel as often as they say, sixty calls deep: calls THREADS TIMES [PAUSES], of each thread; PAUSES: it sleeps for a millisecond so many times.
// Says what a call cost, in CPU time of everything.
#include <pthread.h>
#include <unistd.h>

#include "workload.h"

enum { DEPTH = 60 };
static long times, pauses;

NOINLINE void ask(void) {
  getppid();
  NO_TAIL_CALL();
}
NOINLINE void deeper(int levels) {
  if (levels > 1) deeper(levels - 1);
  else ask();
  NO_TAIL_CALL();
}
static void *asks(void *ignored) {
  (void)ignored;
  for (long i = 0; i < times; i++) {
    deeper(DEPTH - 2);
    if (pauses != 0 && i % (times / pauses + 1) == 0) usleep(1000);
  }
  return NULL;
}

int main(int argc, char **argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 1000;
  pauses = argc > 3 ? atol(argv[3]) : 0;
  pthread_t all[64];
  for (long i = 0; i < threads && i < 64; i++) pthread_create(&all[i], NULL, asks, NULL);
  for (long i = 0; i < threads && i < 64; i++) pthread_join(all[i], NULL);
  printf("called %ld\n", threads * times);
  printf("used %.0f ns a call\n", used_seconds() * 1e9 / (double)(threads * times));
}

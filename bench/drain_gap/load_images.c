// SPDX-License-Identifier: Apache-2.0
// load_images LIBRARY…: maps each file as code and works for 20 ms after each; a second thread works all the time.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
static volatile int done;
__attribute__((noinline, noclone)) void busy_leaf(void) {
  for (long i = 0; i < 100000; i++) __asm__ volatile("" : "+r"(i));
}
static void *work(void *unused) {
  while (!done) busy_leaf();
  return unused;
}
int main(int argc, char **argv) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  for (int i = 1; i < argc; i++) {
    struct stat st;
    const int file = open(argv[i], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &st) != 0) return 1;
    if (mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) return 1;
    close(file);
    for (const double end = now_ms() + 20; now_ms() < end;) busy_leaf();
  }
  done = 1;
  pthread_join(thread, NULL);
  return 0;
}

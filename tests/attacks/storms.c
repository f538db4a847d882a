// SPDX-License-Identifier: Apache-2.0
// storms SECONDS KIND: what happens more often than anybody can follow. Says "running".
//   names      a thread that calls itself otherwise each time
//   threads    up to 20,000 threads, four of which rename themselves
//   forks      processes that end at once, fifty at a time
//   mappings   executable memory without a file, one page after the other
//   images     eight processes with 30,000 executable mappings of a file each, which work
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static time_t end;

static void *rename_all_the_time(void *unused) {
  char name[16];
  for (unsigned long i = 0; (i & 1023) != 0 || time(0) < end; ++i) {
    snprintf(name, sizeof name, "%lx\n\x1b[31m\"<", i);
    prctl(PR_SET_NAME, name);
  }
  return unused;
}

static void *sleep_all_the_time(void *unused) {
  while (time(0) < end) usleep(900000);
  return unused;
}

static void start_threads(void) {
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  for (int i = 0; i < 20000; ++i)
    if (pthread_create(&thread, &small, i < 4 ? rename_all_the_time : sleep_all_the_time, 0) != 0) break;
}

static void fork_all_the_time(void) {
  while (time(0) < end) {
    for (int i = 0; i < 50; ++i)
      if (fork() == 0) _exit(0);
    while (wait(0) > 0) {
    }
  }
}

static void map_all_the_time(void) {
  const size_t size = 1 << 28;
  unsigned char *place = mmap(0, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (unsigned long i = 0; (i & 1023) != 0 || time(0) < end; ++i)
    mmap(place + i * 8192 % size, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void work_among_images(void) {
  const size_t step = 3 * 65536, count = 30000;
  const int fd = open("/proc/self/exe", O_RDONLY);
  unsigned char *place = mmap(0, step * count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t i = 0; i < count; ++i)
    if (mmap(place + i * step, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, (i & 1) * 4096) == MAP_FAILED) break;
  volatile unsigned sum = 0;
  while (time(0) < end) {
    for (unsigned i = 0; i < 100000; ++i) sum += i;
    usleep(20000);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  end = time(0) + atoi(argv[1]);
  if (strcmp(argv[2], "images") == 0) {
    for (int i = 0; i < 7; ++i) {
      if (fork() != 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      work_among_images();
      _exit(0);
    }
  }
  if (strcmp(argv[2], "threads") == 0) start_threads();
  puts("running");
  fflush(stdout);
  if (strcmp(argv[2], "names") == 0) rename_all_the_time(0);
  if (strcmp(argv[2], "threads") == 0) sleep_all_the_time(0);
  if (strcmp(argv[2], "forks") == 0) fork_all_the_time();
  if (strcmp(argv[2], "mappings") == 0) map_all_the_time();
  if (strcmp(argv[2], "images") == 0) work_among_images();
  _exit(0);
}

// SPDX-License-Identifier: Apache-2.0
// Two libraries that take turns at one address. With "mapping" behind the seconds: beside a thread that maps and unmaps data.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define MAX_TURNS 65536
static double turns[MAX_TURNS][2];  // when each library ran: even ones are of the first
static int turn_count;
static double used[2];  // CPU time of each library

NOINLINE uintptr_t load_and_run(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || turn_count == MAX_TURNS) abort();
  void (*run)(void) = (void (*)(void))dlsym(library, "plugin");
  turns[turn_count][0] = wall_seconds();
  const double before = used_seconds();
  run();
  used[turn_count % 2] += used_seconds() - before;
  turns[turn_count++][1] = wall_seconds();
  dlclose(library);
  return (uintptr_t)run;
}
NOINLINE uintptr_t take_one(void) {
  const uintptr_t at = load_and_run(PLUGIN_ONE);
  NO_TAIL_CALL();
  return at;
}
NOINLINE uintptr_t take_two(void) {
  const uintptr_t at = load_and_run(PLUGIN_TWO);
  NO_TAIL_CALL();
  return at;
}
static void print_turns(const char *frame, int first) {
  printf("only %s", frame);
  for (int i = first; i < turn_count; i += 2) printf(" %.9f-%.9f", turns[i][0], turns[i][1]);
  puts("");
}
static void *map_data(void *unused) {
  for (;;) {
    char *data = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) abort();
    data[0] = 1;
    munmap(data, 1 << 16);
    usleep(100);
  }
  return unused;
}
int main(int argc, char **argv) {
  begin(argc, argv);
  pthread_t mapper;
  if (argc > 2 && strcmp(argv[2], "mapping") == 0 && pthread_create(&mapper, NULL, map_data, NULL) != 0) abort();
  // Never the other library's name, not for one sample; where the walk did not know yet, the stack ends in the library (docs/processes.md): about
  // one in a thousand.
  puts("chain main;take_one;load_and_run;plugin;one_entry;one_leaf min 99.5");
  puts("chain main;take_two;load_and_run;plugin;two_entry;two_leaf min 99.5");
  int same = 1;
  while (running()) same &= take_one() == take_two();
  for (int i = 0; i < 2; i++) {
    print_turns(i == 0 ? "one_leaf" : "two_leaf", i);
    print_turns(i == 0 ? "one_entry" : "two_entry", i);
  }
  printf("split one_leaf %.3f two_leaf %.3f\n", used[0], used[1]);
  puts(same ? "# both were at the same address" : "# the addresses differed");
  return 0;
}

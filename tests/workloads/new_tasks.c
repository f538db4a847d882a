// SPDX-License-Identifier: Apache-2.0
// Makes tasks of three kinds, one after the other, on stacks of their own; many are sampled before their first instruction, in clone. What
// is on top of their stacks: the end of a mapping (posix_spawn), the function to be called (clone), zeros (a thread).
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"
static char stack[65536] __attribute__((aligned(16)));
NOINLINE int task(void *ignored) { return ignored != NULL; }
NOINLINE void *thread_work(void *ignored) { return ignored; }
NOINLINE void make_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, thread_work, NULL) == 0) pthread_join(thread, NULL);
}
NOINLINE void make_task(void) {
  pid_t child = clone(task, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
  if (child > 0) waitpid(child, NULL, 0);
}
NOINLINE void fail_to_spawn(void) {
  char *arguments[] = {NULL};
  pid_t child;
  if (posix_spawn(&child, "/nowhere", NULL, NULL, arguments, arguments) == 0) waitpid(child, NULL, 0);
}
int main(int argc, char **argv) {
  begin(argc, argv);
  while (running()) make_thread(), make_task(), fail_to_spawn();
  return 0;
}

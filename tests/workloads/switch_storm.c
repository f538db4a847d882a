// SPDX-License-Identifier: Apache-2.0
// As many context switches as the machine can do, for argv[1] seconds: pairs of processes that pass a byte to and fro on one CPU, argv[2] of them
// (one a CPU), and, unless argv[3] is "quiet", threads and processes that begin and end all the time. Prints "switches N", of the pairs alone. argv[4]
// "waits": also "waited NS", how long all its processes did not run meanwhile, by their own clocks; with "quiet" only.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string.h>

#include "workload.h"

static double end;
static struct { _Atomic uint64_t waited_ns; } *shared;

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
// A process' time off its CPU since it began to count.
static uint64_t wall_before, used_before_ns;
static void begin_to_count(void) { wall_before = now_ns(CLOCK_MONOTONIC), used_before_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID); }
static void end_counting(void) { shared->waited_ns += now_ns(CLOCK_MONOTONIC) - wall_before - (now_ns(CLOCK_PROCESS_CPUTIME_ID) - used_before_ns); }

// A session, and so a scheduler's group (autogroup), for each pair, on one CPU. Of one group for all of them Linux 6.18 was seen to let the virtual time
// stand still while it ran on several CPUs beside other groups: for minutes nothing else ran, no kernel thread either.
static void be_alone(pid_t parent) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

static void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// False: nobody plays any more.
NOINLINE int passes(int from, int to) {
  char byte = 0;
  return read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1;
}

// Two switches a turn, unless both are awake on other CPUs.
static void play(int cpu, volatile uint64_t *turns, pid_t parent) {
  be_alone(parent);
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) _exit(1);
  const pid_t first = getpid(), other = fork();
  begin_to_count();
  stay_on(cpu);
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != first) _exit(1);
    close(there[1]), close(back[0]);
    while (passes(there[0], back[1])) {
    }
    end_counting();
    _exit(0);
  }
  close(there[0]), close(back[1]);
  char byte = 0;
  while ((*turns & 255) != 0 || wall_seconds() < end) {
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) break;
    ++*turns;
  }
  close(there[1]), close(back[0]);
  waitpid(other, NULL, 0);
  end_counting();
  _exit(0);
}

static void *ends_soon(void *argument) {
  (void)argument;
  sched_yield();
  return NULL;
}
static void come_and_go(void) {
  while (wall_seconds() < end) {
    pthread_t threads[4];
    int made = 0;
    while (made < 4 && pthread_create(&threads[made], NULL, ends_soon, NULL) == 0) made++;
    const pid_t child = fork();
    if (child == 0) execl("/proc/self/exe", "switch_storm", "0", "0", (char *)NULL), _exit(1);
    for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
    if (child > 0) waitpid(child, NULL, 0);
  }
  _exit(0);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 2;
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const long pairs = argc > 2 ? atol(argv[2]) : cpus;
  if (seconds == 0) return 0;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  begin_to_count();
  volatile uint64_t *turns = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (turns == MAP_FAILED || pairs > 1000) return 1;
  end = wall_seconds() + seconds;
  const double before = wall_seconds();
  const pid_t self = getpid();
  for (long i = 0; i < pairs; i++)
    if (fork() == 0) play((int)(i % cpus), &turns[16 * i], self);
  if (argc < 4 || strcmp(argv[3], "quiet") != 0)
    for (int i = 0; i < 2; i++)
      if (fork() == 0) come_and_go();
  while (wait(NULL) > 0) {
  }
  uint64_t all = 0;
  for (long i = 0; i < pairs; i++) all += 2 * turns[16 * i];
  printf("switches %llu in %.3f s\n", (unsigned long long)all, wall_seconds() - before);
  end_counting();
  if (argc > 4 && strcmp(argv[4], "waits") == 0) printf("waited %llu\n", (unsigned long long)shared->waited_ns);
  return 0;
}

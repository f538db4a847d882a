// SPDX-License-Identifier: Apache-2.0
// Threads that wait, each in a function and for a thing of its own, for argv[1] seconds; then each says how long it did not run meanwhile, by its own
// clocks (one that only computes, by the scheduler's account): "waited FUNCTION NS". Two wait all the time, one of them on a stack that is a file's.
// One is moved to another CPU while it sleeps: "moved N" times. "switched N": how often the CPU was taken from a thread. "queued NS N": how long and how
// often threads were ready to run and did not.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static double seconds;
static atomic_int over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t end_of_all;
static int pipe_ends[2], quiet_pipe[2], quiet_epoll;
static atomic_int moving_thread;
static int moved;

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static void pause_ns(long ns) { clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, ns}, NULL); }
static void compute_ns(uint64_t ns) {
  const uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

NOINLINE void sleeps(void) { pause_ns(5000000); NO_TAIL_CALL(); }
NOINLINE void sleeps_briefly(void) { pause_ns(20000); NO_TAIL_CALL(); }
NOINLINE void moves(void) {
  const int before = sched_getcpu();
  pause_ns(4000000);
  moved += sched_getcpu() != before;
}
NOINLINE void locks(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  compute_ns(100000);
}
NOINLINE void holds(void) {
  pthread_mutex_lock(&mutex);
  pause_ns(3000000);
  pthread_mutex_unlock(&mutex);
  pause_ns(300000);
}
NOINLINE void reads(void) {
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1) abort();
  NO_TAIL_CALL();
}
NOINLINE void polls(void) {
  struct epoll_event event;
  epoll_wait(quiet_epoll, &event, 1, 6);
  NO_TAIL_CALL();
}
NOINLINE void stays(void) {
  while (sem_wait(&end_of_all) != 0) {
  }
  NO_TAIL_CALL();
}
NOINLINE void stays_on_a_file(void) { stays(); NO_TAIL_CALL(); }
NOINLINE void computes(void) { compute_ns(1000000); NO_TAIL_CALL(); }

static _Atomic uint64_t all_queued_ns, times_queued;

// How long this thread was ready to run and did not, by the scheduler's account. Without stdio, whose buffer would be a heap for each thread.
static uint64_t queued_ns(int is_last) {
  char text[128] = "";
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) abort();
  close(file);
  char *end = text;
  strtoull(end, &end, 10);  // ran
  const uint64_t queued = strtoull(end, &end, 10), times = strtoull(end, &end, 10);
  if (is_last) all_queued_ns += queued, times_queued += times;
  return queued;
}

struct job {
  const char *name;
  void (*work)(void);
};
static void *run(void *argument) {
  const struct job *job = argument;
  pthread_setname_np(pthread_self(), job->name);
  if (job->work == moves) moving_thread = (int)syscall(SYS_gettid);
  const uint64_t queued = job->work == computes ? queued_ns(0) : 0, wall = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_THREAD_CPUTIME_ID);
  while (!over) job->work();
  uint64_t waited = now_ns(CLOCK_MONOTONIC) - wall - (now_ns(CLOCK_THREAD_CPUTIME_ID) - used);
  const uint64_t queued_until = queued_ns(1);
  if (job->work == computes) waited = queued_until - queued;  // what a hypervisor takes is in no thread's CPU time
  printf("waited %s %llu\n", job->name, (unsigned long long)waited);
  return NULL;
}

int main(int argc, char **argv) {
  static struct job jobs[] = {{"sleeps", sleeps}, {"sleeps_briefly", sleeps_briefly}, {"moves", moves}, {"locks", locks}, {"holds", holds},
                              {"reads", reads},   {"polls", polls},                   {"stays", stays},   {"stays_on_a_file", stays_on_a_file}, {"computes", computes}, {"computes", computes}, {"computes", computes}};
  enum { kJobs = sizeof(jobs) / sizeof(*jobs) };
  pthread_t threads[kJobs];
  seconds = argc > 1 ? atof(argv[1]) : 2;
  quiet_epoll = epoll_create1(0);
  if (pipe(pipe_ends) != 0 || pipe(quiet_pipe) != 0) return 1;
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(quiet_epoll, EPOLL_CTL_ADD, quiet_pipe[0], &event);
  sem_init(&end_of_all, 0, 0);
  pthread_attr_t on_a_file;
  pthread_attr_init(&on_a_file);
  const size_t stack_bytes = 1 << 20;
  const int file = memfd_create("stack", MFD_CLOEXEC);
  if (ftruncate(file, (off_t)stack_bytes) != 0) return 1;
  void *stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (stack == MAP_FAILED || pthread_attr_setstack(&on_a_file, stack, stack_bytes) != 0) return 1;
  for (int i = 0; i < kJobs; i++) pthread_create(&threads[i], jobs[i].work == stays_on_a_file ? &on_a_file : NULL, run, &jobs[i]);
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const double end = wall_seconds() + seconds;
  for (long turn = 0; wall_seconds() < end; turn++) {
    pause_ns(2500000);
    if (write(pipe_ends[1], "x", 1) != 1) return 1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((int)(turn % cpus), &one);
    if (moving_thread) sched_setaffinity(moving_thread, sizeof one, &one);
  }
  over = 1;
  for (int i = 0; i < 2; i++) sem_post(&end_of_all);
  if (write(pipe_ends[1], "x", 1) != 1) return 1;
  for (int i = 0; i < kJobs; i++) pthread_join(threads[i], NULL);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  queued_ns(1);
  printf("moved %d\nswitched %ld\nqueued %llu %llu\n", moved, usage.ru_nvcsw + usage.ru_nivcsw, (unsigned long long)all_queued_ns, (unsigned long long)times_queued);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Threads that wait, each in a function and for a thing of its own, for argv[1] seconds; then each says how long it did not run meanwhile, by its own
// clocks: "waited FUNCTION NS". Two wait all the time, one of them on a stack that is a file's.
// One is the only thread of a child, which stops itself again and again. Two wait for the device below the current directory; where there is none
// ("without FUNCTION: REASON") they do not run.
// One is moved to another CPU while it sleeps: "moved N" times, of so many sleeps of 4 ms: "slept N". "switched N": how often the CPU was taken from a
// thread. "queued NS N": how long and how often threads were ready to run and did not.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static double seconds;
// With the child.
static struct {
  atomic_int over;
  _Atomic uint64_t queued_ns, times_queued;
} *shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t end_of_all;
static int pipe_ends[2], socket_ends[2], quiet_pipe[2], quiet_epoll;
// A file on a device, and what it keeps of it in memory.
enum { kBlockBytes = 4096, kBlocks = 4096 };
static int file_on_device;
static volatile const char *mapped_file;
static char *block;
static atomic_int moving_thread;
static int moved, slept;

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
  slept++;
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
NOINLINE void receives(void) {
  char byte;
  if (recv(socket_ends[0], &byte, 1, 0) != 1) abort();
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
// Of blocks that are there already: the journal of the file system has nothing to do with it.
NOINLINE void syncs(void) {
  static unsigned at;
  if (pwrite(file_on_device, block, kBlockBytes, (off_t)(at++ % kBlocks) * kBlockBytes) != kBlockBytes || fdatasync(file_on_device) != 0) abort();
}
static atomic_uint faulted;
NOINLINE void faults(void) { (void)mapped_file[(size_t)(faulted++ % kBlocks) * kBlockBytes]; }
// The half in which no faults are taken now. The kernel may wait here for its workers on other CPUs, so it is nothing for the thread that faults.
static void forget_other_half(void) {
  static unsigned last;
  const unsigned half = faulted / (kBlocks / 2);
  if (half == last) return;
  last = half;
  const size_t bytes = (size_t)kBlocks / 2 * kBlockBytes, begin = (half + 1) % 2 * bytes;
  madvise((char *)mapped_file + begin, bytes, MADV_DONTNEED);
  posix_fadvise(file_on_device, (off_t)begin, (off_t)bytes, POSIX_FADV_DONTNEED);
}
NOINLINE void stopped(void) { kill(getpid(), SIGSTOP); NO_TAIL_CALL(); }

// Adds up how long and how often this thread was ready to run and did not, by the scheduler's account. Without stdio, whose buffer would be a heap for each thread.
static void add_queued(void) {
  char text[128] = "";
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, text, sizeof text - 1) <= 0) abort();
  close(file);
  char *end = text;
  strtoull(end, &end, 10);  // ran
  shared->queued_ns += strtoull(end, &end, 10);
  shared->times_queued += strtoull(end, &end, 10);
}

// A clock of what this thread runs, with the interrupts and what a hypervisor takes meanwhile, which are in no thread's CPU time; -1: it must do without.
static int open_run_clock(void) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_TASK_CLOCK};
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}
static uint64_t ran_ns(int run_clock) {
  uint64_t ns;
  return run_clock >= 0 && read(run_clock, &ns, sizeof ns) == sizeof ns ? ns : now_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct job {
  const char *name;
  void (*work)(void);
};
static void *run(void *argument) {
  const struct job *job = argument;
  pthread_setname_np(pthread_self(), job->name);
  if (job->work == moves) moving_thread = (int)syscall(SYS_gettid);
  const int run_clock = open_run_clock();
  const uint64_t wall = now_ns(CLOCK_MONOTONIC), used = ran_ns(run_clock);
  while (!shared->over) job->work();
  const uint64_t waited = now_ns(CLOCK_MONOTONIC) - wall - (ran_ns(run_clock) - used);
  add_queued();
  if (run_clock >= 0) close(run_clock);
  printf("waited %s %llu\n", job->name, (unsigned long long)waited);
  return NULL;
}

// Null, or why there is no file on a device here.
static const char *make_file(void) {
  char name[] = "waits.XXXXXX";
  const int file = mkostemp(name, O_DIRECT | O_CLOEXEC);
  unlink(name);  // it may be there although it was not opened
  if (file < 0) return "no file can be made here that is written past the memory";
  struct stat about;
  char device[64];
  if (fstat(file, &about) != 0) return "the file is gone";
  snprintf(device, sizeof device, "/sys/dev/block/%u:%u", major(about.st_dev), minor(about.st_dev));
  if (access(device, F_OK) != 0) return "this file system is on no block device";
  const size_t bytes = (size_t)kBlocks * kBlockBytes;
  char *content = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (content == MAP_FAILED) abort();
  memset(content, 'x', bytes);
  for (size_t written = 0; written < bytes;) {
    const ssize_t now = pwrite(file, content + written, bytes - written, (off_t)written);
    if (now <= 0) return "the file cannot be written";
    written += (size_t)now;
  }
  if (fsync(file) != 0) return "the file cannot be synchronised";
  mapped_file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (mapped_file == MAP_FAILED) return "the file cannot be mapped";
  madvise((void *)mapped_file, bytes, MADV_RANDOM);
  file_on_device = file;
  block = content;
  // Of a device in memory nobody waits for.
  struct rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 20; i++) syncs(), faults();
  getrusage(RUSAGE_THREAD, &after);
  if (after.ru_majflt - before.ru_majflt < 10 || after.ru_nvcsw - before.ru_nvcsw < 20) return "nobody waits for this device";
  return NULL;
}

// Ends with its parent, also if that is killed.
static pid_t start_child(void) {
  static const struct job job = {"stopped", stopped};
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
  run((void *)&job);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char **argv) {
  static struct job jobs[] = {{"sleeps", sleeps}, {"sleeps_briefly", sleeps_briefly}, {"moves", moves}, {"locks", locks}, {"holds", holds}, {"reads", reads}, {"receives", receives}, {"polls", polls}, {"syncs", syncs}, {"faults", faults},
                              {"stays", stays}, {"stays_on_a_file", stays_on_a_file}, {"computes", computes}, {"computes", computes}, {"computes", computes}};
  enum { kJobs = sizeof(jobs) / sizeof(*jobs) };
  pthread_t threads[kJobs];
  int begun[kJobs] = {0};
  seconds = argc > 1 ? atof(argv[1]) : 2;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  const char *missing = make_file();
  open_run_clock();  // the kernel waits for all CPUs when there is a first one; it stays
  quiet_epoll = epoll_create1(0);
  if (pipe(pipe_ends) != 0 || pipe(quiet_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) != 0) return 1;
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
  const pid_t child = start_child();
  if (child < 0) return 1;
  for (int i = 0; i < kJobs; i++) {
    if (missing && (jobs[i].work == syncs || jobs[i].work == faults))
      printf("without %s: %s\n", jobs[i].name, missing);
    else
      begun[i] = pthread_create(&threads[i], jobs[i].work == stays_on_a_file ? &on_a_file : NULL, run, &jobs[i]) == 0;
  }
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const double end = wall_seconds() + seconds;
  for (long turn = 0; wall_seconds() < end; turn++) {
    pause_ns(2500000);
    if (write(pipe_ends[1], "x", 1) != 1 || send(socket_ends[1], "x", 1, 0) != 1) return 1;
    kill(child, SIGCONT);
    if (!missing) forget_other_half();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((int)(turn % cpus), &one);
    if (moving_thread) sched_setaffinity(moving_thread, sizeof one, &one);
  }
  shared->over = 1;
  for (int i = 0; i < 2; i++) sem_post(&end_of_all);
  if (write(pipe_ends[1], "x", 1) != 1 || send(socket_ends[1], "x", 1, 0) != 1) return 1;
  for (int i = 0; i < kJobs; i++)
    if (begun[i]) pthread_join(threads[i], NULL);
  while (waitpid(child, NULL, WNOHANG) == 0) {  // it may stop once more
    kill(child, SIGCONT);
    pause_ns(1000000);
  }
  struct rusage usage, usage_of_child;
  getrusage(RUSAGE_SELF, &usage);
  getrusage(RUSAGE_CHILDREN, &usage_of_child);
  add_queued();
  printf("moved %d\nslept %d\nswitched %ld\nqueued %llu %llu\n", moved, slept, usage.ru_nvcsw + usage.ru_nivcsw + usage_of_child.ru_nvcsw + usage_of_child.ru_nivcsw,
         (unsigned long long)shared->queued_ns, (unsigned long long)shared->times_queued);
  return 0;
}

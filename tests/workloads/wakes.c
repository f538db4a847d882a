// SPDX-License-Identifier: Apache-2.0
// Threads of three processes that wake each other, for argv[1] seconds. Each is named as its function, in which it wakes whom it wakes and nobody else. Then
// "woken WAITER STATE WAKER NS SHORT MOST": how long WAITER waited for WAKER, and how much of that in waits shorter than argv[2] ns (the recording's period,
// "period NS"). A wait ends when its waker says, by its clock, that it is about to wake: how long who is woken waits for a CPU then is none of this.
// Who ends wakes a little later than it can say: MOST is until the waiter went on. Who sleeps is woken by an interrupt, at the time that it was told, or
// later, where a virtual machine's timers are late: MOST is the same. One thread computes, where such interrupts come, and wakes nobody. argv[3]: so many times as slow.
//
//   begins --pipe--> supplies --condition--> answers --pipe--> asks     6, 6 and 9 ms of each 9; supplies and answers are another process's
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

enum { BY_ANSWERS, BY_SUPPLIES, BY_BEGINS, BY_SELLS, BY_SENDS, BY_POKES, BY_QUITS, BY_ENDS, kWakers };
// Who waits for it, and the state that this is.
static const char *const wakers[kWakers][3] = {{"answers", "asks", "io"},   {"supplies", "answers", "lock"}, {"begins", "supplies", "io"}, {"sells", "buys", "lock"},
                                               {"sends", "receives", "io"}, {"pokes", "poked", "other"},     {"quits", "joins", "lock"},   {"ends", "forks", "other"}};
struct account {
  _Atomic uint64_t ns, short_ns, most_ns;
};
enum { MAIN, ASKS, ANSWERS, SUPPLIES, BEGINS, BUYS, SELLS, RECEIVES, SENDS, POKED, POKES, JOINS, QUITS, FORKS, ENDS, NAPS, COMPUTES, kThreads };
// Of both processes and those that end.
static struct shared {
  struct account woken[kWakers], slept[kThreads];
  _Atomic uint64_t ends_at;
  atomic_int stage, alive[4];
} *shared;
static uint64_t period_ns, slowness = 1;
static _Thread_local struct account *sleeper;

static int from_begins[2], from_answers[2], from_sends[2];
static pthread_t poked_thread;
static pthread_mutex_t wares = PTHREAD_MUTEX_INITIALIZER, supply = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t supplied = PTHREAD_COND_INITIALIZER;
static uint64_t supplied_at;
static _Atomic uint64_t sold_at, quits_at;
static atomic_int is_held, is_bought;

static uint64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static uint64_t now(void) { return now_ns(CLOCK_MONOTONIC); }
static void waited(struct account *account, uint64_t begin, uint64_t end, uint64_t most) {
  if (end <= begin) return;  // it did not have to
  account->ns += end - begin;
  account->most_ns += most - begin;
  if (end - begin < period_ns) account->short_ns += end - begin;
}
static void pause_ns(uint64_t ns) {
  const uint64_t begin = now(), end = begin + slowness * ns;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){(time_t)(end / 1000000000), (long)(end % 1000000000)}, NULL);
  waited(sleeper, begin, end, now());
}
// Who waits takes all that came meanwhile: the first one woke it.
static uint64_t first_of(int file) {
  uint64_t at[64];
  if (read(file, at, sizeof at) < (ssize_t)sizeof *at) abort();
  return at[0];
}
static void wake_by(int file) {
  const uint64_t at = now();
  if (write(file, &at, sizeof at) != sizeof at) abort();
}
static void be_named(const char *name, int thread) {
  prctl(PR_SET_NAME, name);
  prctl(PR_SET_TIMERSLACK, 1);
  sleeper = &shared->slept[thread];
}
static int goes_on(int stage) { return shared->stage <= stage; }

NOINLINE void asks(void) {
  const uint64_t begin = now();
  const uint64_t at = first_of(from_answers[0]);
  waited(&shared->woken[BY_ANSWERS], begin, at, at);
}
NOINLINE void answers(void) {
  const uint64_t begin = now();
  pthread_mutex_lock(&supply);
  while (supplied_at == 0) pthread_cond_wait(&supplied, &supply);
  waited(&shared->woken[BY_SUPPLIES], begin, supplied_at, supplied_at);
  supplied_at = 0;
  pthread_mutex_unlock(&supply);
  pause_ns(3000000);
  wake_by(from_answers[1]);
  NO_TAIL_CALL();
}
NOINLINE void supplies(void) {
  const uint64_t begin = now();
  const uint64_t at = first_of(from_begins[0]);
  waited(&shared->woken[BY_BEGINS], begin, at, at);
  pthread_mutex_lock(&supply);
  if (supplied_at == 0) supplied_at = now();
  pthread_mutex_unlock(&supply);
  pthread_cond_signal(&supplied);
  pause_ns(3000000);
  NO_TAIL_CALL();
}
NOINLINE void begins(void) {
  pause_ns(6000000);
  wake_by(from_begins[1]);
  pause_ns(3000000);
  NO_TAIL_CALL();
}

// It has the mutex 3 ms, and then not before `buys` had it.
NOINLINE void sells(void) {
  pthread_mutex_lock(&wares);
  is_bought = 0;
  is_held = 1;
  pause_ns(3000000);
  is_held = 0;
  sold_at = now();
  pthread_mutex_unlock(&wares);
  while (!is_bought && goes_on(0)) pause_ns(100000);
}
NOINLINE void buys(void) {
  while (!is_held) pause_ns(100000);
  const uint64_t begin = now();
  pthread_mutex_lock(&wares);
  waited(&shared->woken[BY_SELLS], begin, sold_at, sold_at);
  pthread_mutex_unlock(&wares);
  is_bought = 1;
}

NOINLINE void receives(void) {
  const uint64_t begin = now();
  const uint64_t at = first_of(from_sends[0]);
  waited(&shared->woken[BY_SENDS], begin, at, at);
}
NOINLINE void sends(void) {
  pause_ns(4000000);
  wake_by(from_sends[1]);
  NO_TAIL_CALL();
}

NOINLINE void poked(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  siginfo_t info;
  const uint64_t begin = now();
  if (sigwaitinfo(&signals, &info) != SIGUSR1) abort();
  const uint64_t at = (uint64_t)info.si_value.sival_ptr;
  waited(&shared->woken[BY_POKES], begin, at, at);
}
NOINLINE void pokes(void) {
  pause_ns(5000000);
  pthread_sigqueue(poked_thread, SIGUSR1, (union sigval){.sival_ptr = (void *)now()});
  NO_TAIL_CALL();
}

static void *quits(void *unused) {
  be_named("quits", QUITS);
  pause_ns(3000000);
  quits_at = now();
  return unused;
}
NOINLINE void joins(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, quits, NULL) != 0) abort();
  const uint64_t begin = now();
  pthread_join(thread, NULL);
  waited(&shared->woken[BY_QUITS], begin, quits_at, now());
}
NOINLINE void ends(void) {
  be_named("ends", ENDS);
  pause_ns(4000000);
  shared->ends_at = now();
  _exit(0);
}
NOINLINE void forks(void) {
  const pid_t child = fork();
  if (child == 0) ends();
  const uint64_t begin = now();
  if (waitpid(child, NULL, 0) != child) abort();
  waited(&shared->woken[BY_ENDS], begin, shared->ends_at, now());
}

NOINLINE void naps(void) { pause_ns(2000000); NO_TAIL_CALL(); }
NOINLINE void computes(void) {
  const uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + 1000000;
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

// Those of a stage end when all of the stage before have: nobody waits for one who has gone.
static const struct job {
  const char *name;
  void (*work)(void);
  int stage, process;
} jobs[kThreads] = {[ASKS] = {"asks", asks, 0, 0},       [ANSWERS] = {"answers", answers, 1, 1}, [SUPPLIES] = {"supplies", supplies, 2, 1}, [BEGINS] = {"begins", begins, 3, 0},
                    [BUYS] = {"buys", buys, 0, 0},       [SELLS] = {"sells", sells, 1, 0},       [RECEIVES] = {"receives", receives, 0, 0}, [SENDS] = {"sends", sends, 1, 0},
                    [POKED] = {"poked", poked, 0, 0},    [POKES] = {"pokes", pokes, 1, 0},       [JOINS] = {"joins", joins, 0, 0},          [FORKS] = {"forks", forks, 0, 2},
                    [NAPS] = {"naps", naps, 0, 0},       [COMPUTES] = {"computes", computes, 3, 0},
                    [MAIN] = {.name = "wakes"},          [QUITS] = {.name = "quits"},            [ENDS] = {.name = "ends"}};

enum { kProcesses = 3 };  // who forks holds up all other threads of its process meanwhile: it has one of its own

static void *run(void *argument) {
  const struct job *job = argument;
  be_named(job->name, (int)(job - jobs));
  if (job->work == naps || job->work == computes) {  // on one CPU
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);  // where that is not allowed, it is on any
  }
  while (goes_on(job->stage)) job->work();
  shared->alive[job->stage]--;
  return NULL;
}
static void run_jobs_of(int process) {
  for (int i = 0; i < kThreads; i++) {
    if (jobs[i].work == NULL || jobs[i].process != process) continue;
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void *)&jobs[i]) != 0) abort();
    if (i == POKED) poked_thread = thread;
  }
}

static void connect_over_tcp(int ends[2]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  ends[1] = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listening, (struct sockaddr *)&address, size) != 0 || listen(listening, 1) != 0 || getsockname(listening, (struct sockaddr *)&address, &size) != 0 ||
      connect(ends[1], (struct sockaddr *)&address, size) != 0 || (ends[0] = accept(listening, NULL, NULL)) < 0 || setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    abort();
}

static void say(const char *waiter, const char *state, const char *waker, const struct account *account) {
  printf("woken %s %s %s %llu %llu %llu\n", waiter, state, waker, (unsigned long long)account->ns, (unsigned long long)account->short_ns, (unsigned long long)account->most_ns);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 2;
  period_ns = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
  if (argc > 3) slowness = strtoull(argv[3], NULL, 10);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || pipe(from_begins) != 0 || pipe(from_answers) != 0) return 1;
  connect_over_tcp(from_sends);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  be_named("wakes", MAIN);
  for (int i = 0; i < kThreads; i++)
    if (jobs[i].work != NULL) shared->alive[jobs[i].stage]++;
  for (int process = 1; process < kProcesses; process++) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_jobs_of(process);
    while (goes_on(3)) pause_ns(20000000);
    _exit(0);
  }
  run_jobs_of(0);
  const double end = wall_seconds() + seconds;
  while (wall_seconds() < end) pause_ns(10000000);
  for (int stage = 0; stage < 4; stage++) {
    shared->stage = stage + 1;
    while (shared->alive[stage] > 0) pause_ns(1000000);
  }
  for (int left = kProcesses - 1; left > 0;) {
    pause_ns(1000000);
    while (waitpid(-1, NULL, WNOHANG) > 0) left--;
  }
  printf("period %llu\n", (unsigned long long)period_ns);
  for (int i = 0; i < kWakers; i++) say(wakers[i][1], wakers[i][2], wakers[i][0], &shared->woken[i]);
  for (int i = 0; i < kThreads; i++)
    if (shared->slept[i].ns > 0) say(jobs[i].name, "sleep", "interrupts", &shared->slept[i]);
  return 0;
}

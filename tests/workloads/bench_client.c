// SPDX-License-Identifier: Apache-2.0
// Announces benchmarks as the clients of the runner FIFO protocol do, each in its own order. Written from the description of the
// protocol (docs/bench.md), not with cicada/bench.h.
//
//   bench_client all PROCESSES          PROCESSES programs, each exec'd while nothing is sampled, four benchmarks each
//   bench_client ORDER FIRST COUNT      benchmarks bench::FIRST …, each of which spins in work_FIRST
//   bench_client spin N MS              the work alone, announcing nothing
//   bench_client reuse                  two programs that follow each other under one pid
//   bench_client die                    in the middle of a message, then after a Start
//   bench_client beside                 two at a time
//   bench_client overlap                two at a time in one process, which nobody can tell apart
//   bench_client odd                    what no client sends: another version, absurd lengths, a body that is none; then a benchmark
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CURRENT, START, STOP, SET_INTEGRATION = 5, MARKER = 7, SET_VERSION, GET_MODE };
enum { ROUND_START = 2, ROUND_END };
#define ROUND_MS 14

static int ctl, ack, lock;
static const char *self;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// Of CPU time: as many samples on a busy machine as on an idle one.
static void spin(int ms) {
  volatile unsigned sink = 0;
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  const uint64_t end = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec + (uint64_t)ms * 1000000;
  do {
    for (int i = 0; i < 50000; i++) sink += (unsigned)i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while ((uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec < end);
}

#define WORK(n) \
  __attribute__((noinline)) void work_##n(int ms) { spin(ms); __asm__ volatile(""); }
#define TEN(p) WORK(p##0) WORK(p##1) WORK(p##2) WORK(p##3) WORK(p##4) WORK(p##5) WORK(p##6) WORK(p##7) WORK(p##8) WORK(p##9)
#define HUNDRED(p) TEN(p##0) TEN(p##1) TEN(p##2) TEN(p##3) TEN(p##4) TEN(p##5) TEN(p##6) TEN(p##7) TEN(p##8) TEN(p##9)
HUNDRED(0)
HUNDRED(1)
#undef WORK
#define WORK(n) work_##n,
static void (*const works[])(int) = {HUNDRED(0) HUNDRED(1)};

// For the plugin.
void (*bench_work(int n))(int) { return works[n]; }

static void spawn(int n, int ms) {
  const pid_t child = fork();
  if (child == 0) {
    char number[16], time[16];
    snprintf(number, sizeof number, "%d", n);
    snprintf(time, sizeof time, "%d", ms);
    execl(self, self, "spin", number, time, (char *)0);
    _exit(1);
  }
  waitpid(child, 0, 0);
}

static int32_t ask_now(const void *body, uint32_t size) {
  uint32_t length = size, kind = 0;
  char answer[64];
  if (write(ctl, &length, 4) != 4 || write(ctl, body, size) != (ssize_t)size) return -1;
  struct pollfd polled = {ack, POLLIN, 0};
  if (poll(&polled, 1, 60000) != 1 || read(ack, &length, 4) != 4 || length > sizeof answer || read(ack, answer, length) != (ssize_t)length) return -1;
  memcpy(&kind, answer, 4);
  return (int32_t)kind;
}
// Answers have no address: two that ask at once take each other's. Those that run beside each other ask in turn.
static int32_t ask(const void *body, uint32_t size) {
  flock(lock, LOCK_EX);
  const int32_t kind = ask_now(body, size);
  flock(lock, LOCK_UN);
  return kind;
}
static void expect(int32_t kind, int32_t wanted, const char *what) {
  if (kind == wanted) return;
  fprintf(stderr, "bench_client: %s: answer %d, not %d\n", what, kind, wanted);
  exit(1);
}
static void plain(uint32_t kind) { expect(ask(&kind, 4), 3, kind == START ? "Start" : "Stop"); }
static void marker(uint32_t which, uint64_t time) {
  struct __attribute__((packed)) { uint32_t kind; int32_t pid; uint32_t which; uint64_t time; } body = {MARKER, getpid(), which, time};
  expect(ask(&body, sizeof body), 3, "AddMarker");
}
static void current(int n) {
  struct __attribute__((packed)) { uint32_t kind; int32_t pid; uint64_t size; char uri[32]; } body = {CURRENT, getpid(), 0, ""};
  body.size = (uint64_t)snprintf(body.uri, sizeof body.uri, "bench.c::work_%03d", n);
  expect(ask(&body, (uint32_t)(16 + body.size)), 3, "CurrentBenchmark");
}
static void hello(void) {
  struct __attribute__((packed)) { uint32_t kind; uint64_t version; } body = {SET_VERSION, 2};
  const uint32_t mode = GET_MODE;
  ctl = open("/tmp/runner.ctl.fifo", O_RDWR);
  ack = open("/tmp/runner.ack.fifo", O_RDWR);
  lock = open("bench_client.lock", O_RDWR);
  if (ctl < 0 || ack < 0) {
    fprintf(stderr, "bench_client: no runner\n");
    exit(2);
  }
  expect(ask(&body, sizeof body), 3, "SetVersion");
  expect(ask(&mode, 4), 10, "GetIntegrationMode");
}

static void *thread_round(void *n) {
  works[(intptr_t)n](ROUND_MS);
  return 0;
}

static void one(const char *order, int n) {
  void (*work)(int) = works[n];
  uint64_t begin = now_ns();
  if (!strcmp(order, "playwright")) {
    current(n), plain(START);
    begin = now_ns();
    spawn(n, ROUND_MS);
    marker(ROUND_START, begin), marker(ROUND_END, now_ns()), plain(STOP);
    return;
  }
  plain(START);
  begin = now_ns();
  if (!strcmp(order, "plugin")) {  // loaded between benchmarks, below
    void (*plugin)(uint64_t, int) = (void (*)(uint64_t, int))(intptr_t)dlsym(RTLD_DEFAULT, "in_plugin");
    plugin(ROUND_MS, n);
  } else if (!strcmp(order, "exec")) {
    spawn(n, ROUND_MS);
  } else if (!strcmp(order, "divan")) {
    pthread_t other;
    pthread_create(&other, 0, thread_round, (void *)(intptr_t)n);
    pthread_join(other, 0);
  } else if (!strcmp(order, "criterion")) {
    for (int i = 0; i < 3; i++) {
      const uint64_t round = now_ns();
      work(ROUND_MS / 2), marker(ROUND_START, round), marker(ROUND_END, now_ns());
    }
  } else {
    work(ROUND_MS);
  }
  const uint64_t end = now_ns();
  if (!strcmp(order, "vitest") || !strcmp(order, "exec")) marker(ROUND_START, begin), marker(ROUND_END, end);
  plain(STOP);
  if (!strcmp(order, "go")) marker(ROUND_START, begin), marker(ROUND_END, end);
  current(n);
  if (!strcmp(order, "tinybench")) marker(ROUND_START, begin), marker(ROUND_END, end);
}

static void overlap(void) {
  plain(START), works[0](ROUND_MS), plain(START), works[1](ROUND_MS);
  plain(STOP), current(0), plain(STOP), current(1);
}

static void odd(void) {
  const struct __attribute__((packed)) { uint32_t kind; uint64_t version; } newer = {SET_VERSION, 3};
  const uint32_t none[2] = {11, 0}, lengths[] = {0xffffffffu, 0x7fffffffu, 1u << 24};
  expect(ask(&newer, sizeof newer), 6, "SetVersion(3)");
  expect(ask(none, sizeof none), 6, "a kind that is none");
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    uint32_t answer[2] = {0, 0};
    struct pollfd polled = {ack, POLLIN, 0};
    if (write(ctl, &lengths[i], 4) == 4 && poll(&polled, 1, 60000) == 1 && read(ack, answer, 8) == 8) expect((int32_t)answer[1], 6, "an absurd length");
    else expect(-1, 6, "an absurd length");
  }
  one("pytest", 0);
}

static pid_t start(const char *a, const char *b, const char *c) {
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, a, b, c, (char *)0);
    _exit(1);
  }
  return child;
}
static int finish(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// The next process has this pid, if nobody else forks meanwhile.
static void next_pid(pid_t pid) {
  FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
  if (last == 0) return;
  fprintf(last, "%d", pid - 1);
  fclose(last);
}

static int run_all(int processes) {
  static const char *const orders[] = {"tinybench", "vitest", "playwright", "pytest", "plugin", "criterion", "divan", "go", "exec", "jvm"};
  for (int i = 0; i < processes; i++) {
    char first[16];
    snprintf(first, sizeof first, "%d", 4 * i);
    if (i % 10 == 9) finish(start("die", 0, 0));
    const int code = finish(start(orders[i % 10], first, "4"));
    if (code != 0) return code;
  }
  return 0;
}

static int reuse(void) {
  for (int tries = 0; tries < 50; tries++) {
    const pid_t first = start("pytest", "0", "1");
    if (finish(first) != 0) return 1;
    next_pid(first);
    const pid_t second = start("vitest", "1", "1");
    if (finish(second) != 0) return 1;
    if (first != second) continue;
    printf("reused %d\n", first);
    return 0;
  }
  return 0;
}

static int beside(void) {
  close(open("bench_client.lock", O_RDWR | O_CREAT, 0600));
  const pid_t a = start("criterion", "10", "1");
  usleep(7000);
  const pid_t b = start("criterion", "20", "1");
  const int code = finish(a);
  return finish(b) + code;
}

int main(int argc, char **argv) {
  self = "/proc/self/exe";
  char path[4096];
  const ssize_t size = readlink(self, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  self = path;
  if (argc > 2 && !strcmp(argv[1], "all")) return run_all(atoi(argv[2]));
  if (argc > 3 && !strcmp(argv[1], "spin")) return works[atoi(argv[2])](atoi(argv[3])), 0;
  if (argc > 1 && !strcmp(argv[1], "reuse")) return reuse();
  if (argc > 1 && !strcmp(argv[1], "beside")) return beside();
  if (argc > 1 && !strcmp(argv[1], "die")) {
    hello(), plain(START);
    const uint32_t length = 500;
    return write(ctl, &length, 4) == 4 ? 0 : 1;
  }
  if (argc > 1 && (!strcmp(argv[1], "overlap") || !strcmp(argv[1], "odd"))) return hello(), (argv[1][1] == 'v' ? overlap() : odd()), 0;
  if (argc < 4) return 2;
  hello();
  for (int i = 0; i < atoi(argv[3]); i++) {
    if (!strcmp(argv[1], "plugin") && i == 1 && dlopen(BENCH_PLUGIN, RTLD_NOW | RTLD_GLOBAL) == 0) return 3;
    one(i == 0 && !strcmp(argv[1], "plugin") ? "jvm" : argv[1], atoi(argv[2]) + i);
  }
  return 0;
}

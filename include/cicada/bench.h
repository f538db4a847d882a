/* SPDX-License-Identifier: Apache-2.0
 *
 * Announces benchmarks to `cicada bench`, or to any other runner of the same protocol. C11 and C++, no dependency, one file.
 *
 *   #include <cicada/bench.h>
 *
 *   cicada_bench_start();
 *   work();
 *   cicada_bench_stop("parse::large");
 *
 * Without a runner each call costs one comparison, and the first one a failed open(). Rounds, if there are several:
 *
 *   cicada_bench_start();
 *   for (int i = 0; i < 100; i++) {
 *     uint64_t begin = cicada_bench_now();
 *     work();
 *     cicada_bench_round(begin, cicada_bench_now());
 *   }
 *   cicada_bench_stop("parse::large");
 *
 * Rounds are kept and told after the window; at most CICADA_BENCH_ROUNDS of each benchmark.
 * Threads: one at a time. After fork() the child opens for itself. State is per translation unit.
 */
#ifndef CICADA_BENCH_H
#define CICADA_BENCH_H

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* With -std=c11 the C library hides what is not ISO C's. */
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#ifdef __cplusplus
extern "C"
#endif
int clock_gettime(int clock, struct timespec *now);
#endif

/* The protocol's own places; both sides must agree. */
#ifndef CICADA_BENCH_CONTROL
#define CICADA_BENCH_CONTROL "/tmp/runner.ctl.fifo"
#endif
#ifndef CICADA_BENCH_ANSWER
#define CICADA_BENCH_ANSWER "/tmp/runner.ack.fifo"
#endif
#ifndef CICADA_BENCH_ROUNDS
#define CICADA_BENCH_ROUNDS 1024
#endif

struct cicada_bench_state {
  int control, answer, pid; /* pid: who opened; 0: nobody yet. control -1: no runner */
  unsigned rounds;
  uint64_t begin[CICADA_BENCH_ROUNDS], end[CICADA_BENCH_ROUNDS];
};

static inline struct cicada_bench_state *cicada_bench_get(void) {
  static struct cicada_bench_state state = {-1, -1, 0, 0, {0}, {0}};
  return &state;
}

static inline uint64_t cicada_bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The kind of the answer, -1: none. A runner that does not answer within a second is not asked again. */
static inline int cicada_bench_ask(struct cicada_bench_state *state, const void *body, uint32_t size) {
  struct pollfd polled = {state->answer, POLLIN, 0};
  uint32_t answer[16] = {0}, length = 0;
  if (state->control < 0) return -1;
  if (write(state->control, &size, sizeof size) == (ssize_t)sizeof size && write(state->control, body, size) == (ssize_t)size && poll(&polled, 1, 1000) == 1 &&
      read(state->answer, &length, sizeof length) == (ssize_t)sizeof length && length >= 4 && length <= sizeof answer && read(state->answer, answer, length) == (ssize_t)length)
    return (int)answer[0];
  close(state->control);
  close(state->answer);
  state->control = -1;
  return -1;
}

static inline int cicada_bench_ask_number(struct cicada_bench_state *state, uint32_t kind) { return cicada_bench_ask(state, &kind, sizeof kind); }

static inline int cicada_bench_open(const char *place) {
  const int fd = open(place, O_RDWR);
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

/* Not zero: a runner listens. */
static inline int cicada_bench_is_on(void) {
  struct cicada_bench_state *state = cicada_bench_get();
  const int pid = (int)getpid();
  if (state->pid == pid) return state->control >= 0;
  if (state->control >= 0) { /* the parent's */
    close(state->control);
    close(state->answer);
  }
  state->pid = pid;
  state->control = cicada_bench_open(CICADA_BENCH_CONTROL);
  if (state->control < 0) return 0;
  state->answer = cicada_bench_open(CICADA_BENCH_ANSWER);
  {
    const uint32_t version[3] = {8, 2, 0};
    if (state->answer < 0 || cicada_bench_ask(state, version, sizeof version) != 3 || cicada_bench_ask_number(state, 9) != 10) {
      if (state->control >= 0) close(state->control);
      if (state->answer >= 0 && state->control >= 0) close(state->answer);
      state->control = -1;
    }
  }
  return state->control >= 0;
}

/* From here on samples are the benchmark's. */
static inline void cicada_bench_start(void) {
  if (!cicada_bench_is_on()) return;
  cicada_bench_get()->rounds = 0;
  cicada_bench_ask_number(cicada_bench_get(), 1);
}

static inline void cicada_bench_round(uint64_t begin_ns, uint64_t end_ns) {
  struct cicada_bench_state *state = cicada_bench_get();
  if (state->control < 0 || state->rounds == CICADA_BENCH_ROUNDS) return;
  state->begin[state->rounds] = begin_ns;
  state->end[state->rounds++] = end_ns;
}

/* Up to here, and this is its name: "file::group::name". At most 4,000 bytes of it are told. */
static inline void cicada_bench_stop(const char *uri) {
  struct cicada_bench_state *state = cicada_bench_get();
  unsigned char body[16 + 4000];
  uint32_t kind = 0;
  int32_t pid = (int32_t)getpid();
  uint64_t size = strlen(uri);
  unsigned i;
  if (!cicada_bench_is_on()) return;
  cicada_bench_ask_number(state, 2);
  for (i = 0; i < 2 * state->rounds; i++) {
    uint32_t marker[5] = {7, (uint32_t)pid, 2 + i % 2, 0, 0};
    memcpy(marker + 3, i % 2 ? &state->end[i / 2] : &state->begin[i / 2], sizeof(uint64_t));
    if (cicada_bench_ask(state, marker, sizeof marker) != 3) break;
  }
  if (size > sizeof body - 16) size = sizeof body - 16;
  memcpy(body, &kind, 4);
  memcpy(body + 4, &pid, 4);
  memcpy(body + 8, &size, 8);
  memcpy(body + 16, uri, (size_t)size);
  cicada_bench_ask(state, body, (uint32_t)(16 + size));
}

#endif

// SPDX-License-Identifier: Apache-2.0
// Calls that take a known time at least: timed_calls THREADS TIMES [CHILDREN]. On each thread, TIMES times: slow(), which sleeps; nested(), five of itself in each other, each of which sleeps;
// quick(); first(), which ends in second(); passed(), through which every fourth time an exception passes, every fifth a longjmp(). Then splitting(), which forks, and returns
// in the child, too; and waiting(), which does not return before the program ends. Before that
// each of CHILDREN calls dive() a thousand deep, and ends there. Says how often, and how many ns were slept in them, at least.
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "workload.h"

namespace {
constexpr long kSleepNs = 200'000;
constexpr int kDepth = 5, kDive = 1000;
long times;
std::atomic<long> thrown, jumped;
thread_local jmp_buf back;
std::atomic<bool> waits, may_return;

void sleep_ns(long ns) {
  const timespec time{0, ns};
  nanosleep(&time, nullptr);
}
}  // namespace

extern "C" NOINLINE long slow(int number) {
  sleep_ns(kSleepNs * (number + 1));
  return number;
}

extern "C" NOINLINE int nested(int levels) {
  sleep_ns(kSleepNs);
  if (levels > 1 && nested(levels - 1) < 0) return -1;
  NO_TAIL_CALL();
  return levels;
}

extern "C" NOINLINE long quick(long number) {
  NO_TAIL_CALL();
  return number + 1;
}

// A jump table, and several returns.
extern "C" NOINLINE long choose(int number) {
  switch (number) {
    case 0: return quick(3) * quick(4);
    case 1: return slow(0) + 7;
    case 2: return getpid();
    case 3: return getppid() - 1;
    case 4: return quick(number) ^ 5;
    case 5: return quick(number) << 3;
    default: return -1;
  }
}

extern "C" NOINLINE long second(int number) {
  sleep_ns(kSleepNs);
  return number;
}
extern "C" NOINLINE long first(int number) { return second(number + 1); }  // a jump

extern "C" NOINLINE void leave(int number) {
  if (number % 4 == 1) {
    ++thrown;
    throw number;
  }
  if (number % 5 == 2) {
    ++jumped;
    longjmp(back, 1);
  }
}
extern "C" NOINLINE long passed(int number) {
  leave(number);
  NO_TAIL_CALL();
  return number;
}
static NOINLINE void pass(int number) {
  if (setjmp(back) != 0) return;
  try {
    passed(number);
  } catch (int) {
  }
}

extern "C" NOINLINE int splitting() {
  const int child = fork();
  sleep_ns(kSleepNs);
  return child;
}

extern "C" NOINLINE void waiting() {
  waits = true;
  while (!may_return) sleep(1);
}

extern "C" NOINLINE int dive(int levels) {
  if (levels == 1) _exit(0);
  const int reached = dive(levels - 1);
  NO_TAIL_CALL();
  return reached + 1;
}

static void call_all() {
  for (int i = 0; i < times; i++) {
    slow(i % 4);
    nested(kDepth);
    first(i);
    choose(i % 7);
    for (int k = 0; k < 100; k++) quick(k);
    pass(i);
  }
}

int main(int argc, char** argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 20;
  std::vector<std::thread> all;
  for (long i = 0; i < threads; i++) all.emplace_back(call_all);
  for (std::thread& thread : all) thread.join();
  const long children = argc > 3 ? atol(argv[3]) : 0;
  for (long i = 0; i < children; i++) {
    const int child = fork();
    if (child == 0) dive(kDive);
    waitpid(child, nullptr, 0);
  }
  const int child = splitting();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  std::thread(waiting).detach();
  while (!waits) sleep_ns(kSleepNs);
  long slow_ns = 0, slow_calls = 0, quick_calls = 0;
  for (long i = 0; i < times; i++) {
    slow_ns += kSleepNs * (i % 4 + 1) + (i % 7 == 1 ? kSleepNs : 0);
    slow_calls += 1 + (i % 7 == 1);
    quick_calls += 100 + (i % 7 == 0 ? 2 : i % 7 == 4 || i % 7 == 5 ? 1 : 0);
  }
  std::printf("slow %ld\nslow_ns %ld\nnested %ld\nnested_ns %ld\nquick %ld\nfirst %ld\nfirst_ns %ld\nchoose %ld\npassed %ld\nleft %ld\nthrown %ld\njumped %ld\ndive %ld\n", threads * slow_calls, threads * slow_ns,
              threads * times * kDepth, threads * times * kSleepNs * kDepth * (kDepth + 1) / 2, threads * quick_calls, threads * times, threads * times * kSleepNs, threads * times, threads * times,
              thrown + jumped, thrown.load(), jumped.load(),
              children * kDive);
  std::fflush(stdout);
  _exit(0);
}

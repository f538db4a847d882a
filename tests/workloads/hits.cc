// SPDX-License-Identifier: Apache-2.0
// Functions that are called as often as it says, sixty calls deep: hits THREADS TIMES PAUSES FORKS [LIBRARY]. Each thread calls hit() TIMES times, and sleeps for a millisecond
// PAUSES times meanwhile; each of FORKS children does the same on one thread, and once more after an exec of this program. Then LIBRARY is loaded, and library_hit() called
// TIMES times at once. Says how often, with which numbers, and what a call cost, in CPU time of everything.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "workload.h"

namespace {
constexpr int kDepth = 60;
long times, pauses;
volatile long g_sink;
}  // namespace

// number: 0 to 3; bytes: 0 to 999; returns bytes, or -1 of number 3. It begins with a push, with frame pointers, too: the kernel steps over most other instructions
// with a debug exception, which costs a virtual machine ten times as much as the rest.
extern "C" NOINLINE long hit(int number, unsigned long bytes) {
  __asm__ volatile("" ::: "rbx");
  g_sink = g_sink + number;
  return number == 3 ? -1 : static_cast<long>(bytes);
}

namespace shop {
struct Till {
  NOINLINE void pay(int number, unsigned long bytes) {
    hit(number, bytes);
    NO_TAIL_CALL();
  }
};
// Two overloads, and a template.
NOINLINE void greet(int) { NO_TAIL_CALL(); }
NOINLINE void greet(double) { NO_TAIL_CALL(); }
template <typename T>
NOINLINE void greet_all(T value) {
  greet(value);
  NO_TAIL_CALL();
}
}  // namespace shop

extern "C" NOINLINE void deeper(int levels, int number, unsigned long bytes) {
  if (levels > 1) deeper(levels - 1, number, bytes);
  else shop::Till().pay(number, bytes);
  NO_TAIL_CALL();
}

namespace risk {
// Returns of even numbers, throws odd ones. An exception passes its caller.
NOINLINE long take(long number) {
  if (number % 2 != 0) throw number;
  return number;
}
NOINLINE long pass(long number) {
  const long taken = take(number);
  NO_TAIL_CALL();
  return taken + 1;
}
NOINLINE long last(long number) { return pass(number); }  // ends in another one
NOINLINE void take_all() {
  for (long i = 0; i < 10; i++) {
    try {
      g_sink = g_sink + pass(i);
    } catch (long number) {
      g_sink = g_sink + number;
    }
  }
  g_sink = g_sink + last(0);
}
}  // namespace risk

static void call_all() {
  for (long i = 0; i < times; i++) {
    deeper(kDepth - 3, static_cast<int>(i % 4), static_cast<unsigned long>(i % 1000));
    if (pauses != 0 && i % (times / pauses + 1) == 0) usleep(1000);
  }
}

int main(int argc, char** argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 1000;
  pauses = argc > 3 ? atol(argv[3]) : 0;
  const long forks = argc > 4 ? atol(argv[4]) : 0;
  long bytes = 0;
  for (long i = 0; i < times; i++) bytes += i % 1000;
  std::vector<std::thread> all;
  for (long i = 0; i < threads; i++) all.emplace_back(call_all);
  for (std::thread& thread : all) thread.join();
  for (long i = 0; i < forks; i++) {
    if (fork() == 0) {
      call_all();
      execl("/proc/self/exe", "hits", "1", argv[2], argv[3], "0", "child", nullptr);
      _exit(1);
    }
  }
  while (wait(nullptr) > 0) {
  }
  risk::take_all();
  shop::greet_all(1);
  shop::greet_all(1.0);
  const std::string library = argc > 5 ? argv[5] : "";
  if (library == "child") return 0;
  const long calls = (threads + 2 * forks) * times;
  std::printf("called %ld\nbytes %ld\nused %.0f ns a call\n", calls, (threads + 2 * forks) * bytes, used_seconds() * 1e9 / static_cast<double>(calls));
  if (library.empty()) return 0;
  void* const loaded = dlopen(library.c_str(), RTLD_NOW);
  auto* const library_hit = loaded == nullptr ? nullptr : reinterpret_cast<void (*)()>(dlsym(loaded, "library_hit"));
  if (library_hit == nullptr) return 1;
  for (long i = 0; i < times; i++) library_hit();
  std::printf("library %ld\n", times);
}

// SPDX-License-Identifier: Apache-2.0
// Calls with arguments that it says: arguments THREADS TIMES PAUSES. The functions differ by where the calling convention, or the compiler, puts what they are called with. Each
// thread sleeps for a millisecond PAUSES times meanwhile. Says sums, of all calls, and how many there were by `priority` of pass().
#include <unistd.h>

#include <thread>
#include <vector>

#include "workload.h"

namespace {
volatile long sink;
long times, pauses;
constexpr int kPriorities = 4;
}  // namespace

struct Large {
  long a, b, c;
};

extern "C" NOINLINE void pass(int priority, unsigned long bytes, signed char small) {
  sink = sink + priority + static_cast<long>(bytes) + small;
  NO_TAIL_CALL();
}

extern "C" NOINLINE void far_back(int a, int b, int c, int d, int e, int f, int seventh) {
  sink = sink + a + b + c + d + e + f + seventh;
  NO_TAIL_CALL();
}

extern "C" NOINLINE long timed(int before, double weight, Large box, int level) {
  sink = sink + before + static_cast<long>(weight) + box.a;
  NO_TAIL_CALL();
  return level;
}

namespace shop {
class Till {
 public:
  explicit Till(long number) : number_(number) {}
  NOINLINE Large pay(int amount) {
    sink = sink + amount;
    return {number_, amount, 0};
  }

 private:
  long number_;
};
// What one argument is called is in different registers.
NOINLINE void put_first(long amount, int unused_one) { sink = sink + amount + unused_one; }
NOINLINE void put_second(const char* name, long amount) { sink = sink + amount + *name; }
NOINLINE void put_none(double amount) { sink = sink + static_cast<long>(amount); }
}  // namespace shop

// Optimised, it becomes another function: without what is always the same.
static __attribute__((noinline)) long specialized(const Large* box, int always, long kept) {
  sink = sink + kept;
  return box->b * always + kept;
}

static void call_all() {
  Large box{1, 2, 3};
  for (long i = 0; i < times; i++) {
    pass(static_cast<int>(i % kPriorities) - 2, static_cast<unsigned long>(i % 1000), static_cast<signed char>(i % 100 - 50));
    far_back(1, 2, 3, 4, 5, 6, static_cast<int>(i % 10));
    timed(1, 2.5, box, static_cast<int>(i % 3) - 1);
    sink = sink + shop::Till(i).pay(static_cast<int>(i % 7)).a;
    shop::put_first(i % 5, 1000);
    shop::put_second("name", i % 6);
    shop::put_none(1.5);
    sink = sink + specialized(&box, 7, i % 9);
    if (pauses != 0 && i % (times / pauses + 1) == 0) usleep(1000);
  }
}

int main(int argc, char** argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 1000;
  pauses = argc > 3 ? atol(argv[3]) : 0;
  std::vector<std::thread> all;
  for (long i = 0; i < threads; i++) all.emplace_back(call_all);
  for (std::thread& thread : all) thread.join();
  long bytes = 0, seventh = 0, paid = 0, put = 0, kept = 0, negative = 0, level = 0, priority[kPriorities] = {};
  for (long i = 0; i < times; i++) {
    bytes += i % 1000;
    priority[i % kPriorities] += i % 1000;
    negative += i % 100 - 50 < -10 ? 1 : 0;
    seventh += i % 10;
    level += i % 3 == 0 ? 1 : 0;
    paid += i % 7;
    put += i % 5 + i % 6;
    kept += i % 9;
  }
  printf("calls %ld\nbytes %ld\nnegative %ld\nseventh %ld\nlevel %ld\npaid %ld\nput %ld\nkept %ld\n", threads * times, threads * bytes, threads * negative, threads * seventh, threads * level, threads * paid, threads * put, threads * kept);
  for (int i = 0; i < kPriorities; i++) printf("priority%d %ld\n", i - 2, threads * priority[i]);
}

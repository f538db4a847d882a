// SPDX-License-Identifier: Apache-2.0
// USDT probes that are passed as often as it says: usdt_hits THREADS TIMES PAUSES. hits:place has three places, whose arguments are in registers, parts of registers, memory and
// constants; hits:guarded is passed only while somebody traces it. Each thread sleeps for a millisecond PAUSES times meanwhile. Says how often, and with which numbers.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "usdt_probe.h"
#include "workload.h"

extern "C" {
__attribute__((section(".probes"), used)) volatile unsigned short hits_guarded_semaphore = 0;
}

namespace {

struct Box {
  long before;
  int number;
};

long times, pauses;
std::atomic<long> bytes_sum, small_sum, guarded, negative;

// number: -1 to 2; bytes: 0 to 999; 7; small: 0 to 199.
[[gnu::always_inline]] inline void pass_in_registers(int number, unsigned long bytes, unsigned char small) {
  PROBE("place", "0", "-4@%k[number] 8@%[bytes] -8@$7 1@%b[small] 8f@%%xmm0", [number] "r"(number), [bytes] "r"(bytes), [small] "q"(small));
}

NOINLINE void pass_first(int number, unsigned long bytes, unsigned char small) {
  pass_in_registers(number, bytes, small);
  NO_TAIL_CALL();
}

NOINLINE void pass_second(unsigned char small, unsigned long bytes, int number) {
  pass_in_registers(number, bytes, small);
  NO_TAIL_CALL();
}

NOINLINE void pass_in_memory(int number, unsigned long bytes, unsigned char small) {
  const Box box{-1, number};
  unsigned long table[4] = {~0UL, ~0UL, ~0UL, bytes};
  PROBE("place", "0", "-4@8(%[box]) 8@8(%[table],%[index],8) -8@$7 1@%%ah 8f@%%xmm0", [box] "r"(&box), [table] "r"(table), [index] "r"(2L), "a"(static_cast<unsigned long>(small) << 8 | 0x55));
  NO_TAIL_CALL();
}

NOINLINE void pass_guarded(long number) {
  PROBE("guarded", "hits_guarded_semaphore", "-8@%[number]", [number] "r"(number));
  NO_TAIL_CALL();
}

void pass_all() {
  for (long i = 0; i < times; i++) {
    const int number = static_cast<int>(i % 4) - 1;
    const auto bytes = static_cast<unsigned long>(i % 1000);
    const auto small = static_cast<unsigned char>(i % 200);
    if (i % 3 == 0) pass_first(number, bytes, small);
    else if (i % 3 == 1) pass_second(small, bytes, number);
    else pass_in_memory(number, bytes, small);
    bytes_sum += static_cast<long>(bytes);
    small_sum += small;
    negative += number < 0 ? 1 : 0;
    if (hits_guarded_semaphore != 0) {
      pass_guarded(i);
      ++guarded;
    }
    if (pauses != 0 && i % (times / pauses + 1) == 0) usleep(1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long threads = argc > 1 ? atol(argv[1]) : 1;
  times = argc > 2 ? atol(argv[2]) : 1000;
  pauses = argc > 3 ? atol(argv[3]) : 0;
  std::vector<std::thread> all;
  for (long i = 0; i < threads; i++) all.emplace_back(pass_all);
  for (std::thread& thread : all) thread.join();
  std::printf("passed %ld\nbytes %ld\nsmall %ld\nnegative %ld\nguarded %ld\n", threads * times, bytes_sum.load(), small_sum.load(), negative.load(), guarded.load());
}

// SPDX-License-Identifier: Apache-2.0
// How long threads ran between begin() and end(), by the scheduler's account (struct thread_time): looks at all threads that live tell of them at both
// moments, the kernel of those that end meanwhile. A record of an end can come before the thread's samples are stored, so it is kept for ten seconds.
// Threads: the drain thread's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "abi/records.h"

namespace cicada::ingest {

class ThreadTable;

class ThreadTimes {
 public:
  explicit ThreadTimes(ThreadTable& threads) : threads_(threads) {}

  // Before the looks. `since_boot_ns`: now, by CLOCK_BOOTTIME. Of who lived then and is not in the first look nothing is known.
  void begin(uint64_t since_boot_ns, uint64_t now_ns) { since_boot_ns_ = since_boot_ns, began_ns_ = now_ns; }
  void end() { is_over_ = true; }
  void take(const thread_time& thread, uint64_t now_ns);
  // Passes on those that have waited long enough; all.
  void settle(uint64_t now_ns);
  void settle_all();

 private:
  static constexpr uint64_t kPatienceNs = 10'000'000'000;
  static constexpr size_t kMostWaiting = 1 << 18;  // then the oldest do not wait
  static constexpr uint64_t kTickNs = 10'000'000;  // how late the account of a thread that runs may be
  struct Seen {
    uint64_t start_ns, ran_ns;
    bool is_over;  // what it runs from then on does not count
  };
  struct Part {
    thread_time thread;  // `ran_ns`: of this part
    uint64_t came_ns;
  };
  void pass_on();

  ThreadTable& threads_;
  uint64_t since_boot_ns_ = ~uint64_t{0}, began_ns_ = 0;
  bool is_over_ = false;
  std::unordered_map<int32_t, Seen> seen_;  // those that live, by tid, and what they had run when they were looked at
  std::deque<Part> waiting_;
};

}  // namespace cicada::ingest

// SPDX-License-Identifier: Apache-2.0
// What threads are called, for profiles: /proc/PID/task/*/comm at first, renames and new threads (which inherit) after that.
// A name outlives its thread by one collection cycle, so that late samples find it, even if the number has a new thread by then: who
// asks says when the thread was seen.
// Threads: any.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/process_key.h"
#include "process/tracking/recently_ended.h"

namespace cicada::process {

class ThreadNames {
 public:
  static constexpr size_t kMaxThreads = 1 << 20;  // beyond: new threads go by their process' name

  void set(Pid pid, Tid tid, std::string_view comm);
  void inherit(Pid pid, Tid tid, Tid parent_tid, uint64_t time_ns);
  void end(Tid tid);
  // What is known now: every thread of the process that has no name yet gets it from /proc.
  void scan(Pid pid);
  // Of the thread that had this number at that time (CLOCK_MONOTONIC). Nothing: never heard of.
  std::optional<std::string> find(Tid tid, uint64_t time_ns) const;
  // Drops what ended before the previous call.
  void end_cycle();
  size_t size() const;

 private:
  struct Entry {
    Pid pid = 0;
    char comm[16] = {};     // empty: not known
    uint64_t begin_ns = 0;  // 0: was there before
  };
  void put(Tid tid, const Entry& entry);
  mutable std::mutex mutex_;
  std::unordered_map<Tid, Entry> threads_;
  RecentlyEnded<Tid, Entry> ended_;
};

}  // namespace cicada::process

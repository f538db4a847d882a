// SPDX-License-Identifier: Apache-2.0
// What threads are called, for profiles: /proc/PID/task/*/comm at first, renames and new threads (which inherit) after that.
// A name outlives its thread by one collection cycle, so that late samples find it.
// Threads: any.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/process_key.h"

namespace cicada::process {

class ThreadNames {
 public:
  static constexpr size_t kMaxThreads = 1 << 20;  // beyond: new threads go by their process' name

  void set(Pid pid, Tid tid, std::string_view comm);
  void inherit(Pid pid, Tid tid, Tid parent_tid);
  void end(Tid tid);
  // What is known now: every thread of the process that has no name yet gets it from /proc.
  void scan(Pid pid);
  // Nothing: never heard of.
  std::optional<std::string> find(Tid tid) const;
  // Drops what ended before the previous call.
  void end_cycle();
  size_t size() const;

 private:
  struct Entry {
    Pid pid = 0;
    char comm[16] = {};
    uint32_t ended_in_cycle = 0;  // 0: alive
  };
  mutable std::mutex mutex_;
  std::unordered_map<Tid, Entry> threads_;
  std::vector<Tid> ended_;
  uint32_t cycle_ = 1;
};

}  // namespace cicada::process

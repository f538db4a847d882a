// SPDX-License-Identifier: Apache-2.0
// Who started whom, from the forks that were seen: a benchmark's samples are those of its process and of all that descends from it.
// Threads: any.
#pragma once
#include <map>
#include <mutex>

#include "benchmark/windows.h"

namespace cicada::benchmark {

class ProcessTree {
 public:
  // Start times of the kernel, of samples and of /proc differ by less. Two processes never have one pid within it.
  static constexpr uint64_t kTickNs = 10'000'000;

  // In the order of births, as far as parents and their children are concerned.
  void add(const ProcessId& child, Pid parent);
  // `process` is `ancestor` or descends from it.
  bool is_in(const ProcessId& process, const ProcessId& ancestor) const;

 private:
  // Who had the pid at that time; start_ns 0: it was there before all that were seen.
  ProcessId owner(Pid pid, uint64_t time_ns) const;

  mutable std::mutex mutex_;
  std::map<std::pair<Pid, uint64_t>, ProcessId> parents_;  // by pid and start
};

}  // namespace cicada::benchmark

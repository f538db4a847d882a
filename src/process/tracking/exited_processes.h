// SPDX-License-Identifier: Apache-2.0
// Who the processes were that are gone: for samples that are looked at late. Remembered for the rest of the collection cycle and the next.
// Threads: one at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/process_key.h"

namespace cicada::process {

struct ProcessInfo {
  Pid pid = 0;
  Pid parent_pid = 0;
  uint64_t start_ns = 0;  // since boot
  uint32_t address_space = 0;
  std::string comm;
  bool started(std::optional<SampledStart> start) const { return !start || SampledStart::of(start_ns) == *start; }
};

class ExitedProcesses {
 public:
  static constexpr size_t kMax = 1 << 16;  // in all; later ones are not remembered: 7 MB

  void add(ProcessInfo process);
  // Of several with this pid that fit, the one that started last.
  std::optional<ProcessInfo> find(Pid pid, std::optional<SampledStart> start) const;
  void end_cycle();

 private:
  std::unordered_multimap<Pid, ProcessInfo> now_, before_;  // exits of this cycle, of the one before
};

}  // namespace cicada::process

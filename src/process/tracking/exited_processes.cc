// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/exited_processes.h"

#include <utility>

namespace cicada::process {

void ExitedProcesses::add(ProcessInfo process) {
  if (now_.size() + before_.size() < kMax) now_.emplace(process.pid, std::move(process));
}

std::optional<ProcessInfo> ExitedProcesses::find(Pid pid, std::optional<SampledStart> start) const {
  const ProcessInfo* newest = nullptr;
  for (const auto* exits : {&before_, &now_}) {
    const auto [first, last] = exits->equal_range(pid);
    for (auto at = first; at != last; ++at) {
      if (at->second.started(start) && (newest == nullptr || at->second.start_ns >= newest->start_ns)) newest = &at->second;
    }
  }
  return newest == nullptr ? std::nullopt : std::optional(*newest);
}

void ExitedProcesses::end_cycle() {
  before_ = std::exchange(now_, {});
}

}  // namespace cicada::process

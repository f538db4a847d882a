// SPDX-License-Identifier: Apache-2.0
#include "benchmark/process_tree.h"

namespace cicada::benchmark {

ProcessId ProcessTree::owner(Pid pid, uint64_t time_ns) const {
  auto after = parents_.upper_bound({pid, time_ns});
  if (after == parents_.begin() || (--after)->first.first != pid) return {pid, 0};
  return {pid, after->first.second};
}

void ProcessTree::add(const ProcessId& child, Pid parent) {
  const std::lock_guard lock(mutex_);
  parents_.emplace(std::pair(child.pid, child.start_ns), owner(parent, child.start_ns));
}

bool ProcessTree::is_in(const ProcessId& process, const ProcessId& ancestor) const {
  const std::lock_guard lock(mutex_);
  const ProcessId wanted = owner(ancestor.pid, ancestor.start_ns + kTickNs);
  // Each parent is older than its child, so this ends.
  for (ProcessId at = owner(process.pid, process.start_ns + kTickNs); at != wanted;) {
    const auto known = parents_.find({at.pid, at.start_ns});
    if (known == parents_.end()) return false;
    at = known->second;
  }
  return true;
}

}  // namespace cicada::benchmark

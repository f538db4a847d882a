// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/short_lived_processes.h"

namespace cicada::process {

void ShortLivedProcesses::select(std::span<const lifecycle_record> records, const std::function<bool(Pid)>& sampled) {
  by_pid_.clear();
  for (const lifecycle_record& record : records) {
    const auto at = by_pid_.find(record.pid);
    if (record.kind == RECORD_FORK) {
      // A child has its parent's mappings, name and space.
      if (const auto parent = by_pid_.find(record.parent_pid); parent != by_pid_.end()) parent->second.matters = true;
      if (at == by_pid_.end()) {
        by_pid_.emplace(record.pid, Life{record.start_ns, 0, sampled(record.pid)});
      } else {
        at->second.matters = true;  // the number's second owner, or told twice
      }
      continue;
    }
    const bool born_here = at != by_pid_.end() && at->second.start_ns == record.start_ns && at->second.gone_ns == 0;
    if (!born_here || record.kind == RECORD_MISS) {
      by_pid_[record.pid].matters = true;
    } else if (record.kind == RECORD_EXIT) {
      at->second.gone_ns = record.time_ns;
    }
  }
}

}  // namespace cicada::process

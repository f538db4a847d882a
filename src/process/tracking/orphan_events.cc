// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/orphan_events.h"

namespace cicada::process {

void OrphanEvents::expect(Pid pid, uint64_t time_ns) {
  if (expected_.size() < kMax) expected_.emplace(pid, time_ns);
}

void OrphanEvents::keep(const MappingEvent& event) {
  if (count_ >= kMax) {
    ++dropped_;
    return;
  }
  events_[event.pid].push_back({event, std::string(event.name)});
  ++count_;
}

void OrphanEvents::expire(uint64_t now_ns) {
  std::erase_if(expected_, [&](const auto& entry) { return entry.second + kKeepNs < now_ns; });
  std::erase_if(events_, [&](const auto& entry) {
    if (entry.second.back().event.time_ns + kKeepNs >= now_ns) return false;
    count_ -= entry.second.size();
    dropped_ += entry.second.size();
    return true;
  });
}

}  // namespace cicada::process

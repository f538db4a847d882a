// SPDX-License-Identifier: Apache-2.0
// What the table answers, on any thread. Waits for no more than the tracker's changes.
#include "process/tracking/process_table_state.h"

namespace cicada::process {

std::optional<ProcessInfo> ProcessTable::find_process(Pid pid, std::optional<SampledStart> start) const {
  const State& s = *state_;
  const auto fits = [&](uint64_t start_ns) { return !start || SampledStart::of(start_ns) == *start; };
  const std::shared_lock lock(s.mutex);
  if (const auto at = s.processes.find(pid); at != s.processes.end() && fits(at->second.info.start_ns)) return at->second.info;
  // With no proof asked for, the last who had the pid.
  const ProcessInfo* newest = nullptr;
  const auto [first, last] = s.exited.equal_range(pid);
  for (auto at = first; at != last; ++at) {
    const ProcessInfo& info = at->second.info;
    if (fits(info.start_ns) && (newest == nullptr || info.start_ns >= newest->start_ns)) newest = &info;
  }
  if (newest != nullptr) return *newest;
  return std::nullopt;
}

std::optional<ProcessInfo> ProcessTable::find_short_lived(Pid pid, SampledStart start) const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  for (const auto* exits : {&s.short_lived, &s.short_lived_before}) {
    for (const lifecycle_record& exit : *exits) {
      if (exit.pid == pid && SampledStart::of(exit.start_ns) == start) return ProcessInfo{pid, 0, exit.start_ns, exit.address_space, comm_of(exit)};
    }
  }
  return std::nullopt;
}

std::optional<mapping_value> ProcessTable::find_mapping(uint32_t address_space, RuntimeAddr address) const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  const auto at = s.spaces.find(address_space);
  return at == s.spaces.end() ? std::nullopt : at->second.mappings.find(address);
}

std::vector<StaleMapping> ProcessTable::find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  const std::shared_lock lock(state_->mutex);
  return state_->stale.find(address_space, pid, time_ns, later);
}

uint64_t ProcessTable::stale_until_ns() const { return state_->stale.until_ns(); }

const LatencyHistogram& ProcessTable::exec_latency() const { return state_->exec_latency; }
const LatencyHistogram& ProcessTable::map_latency() const { return state_->map_latency; }

ProcessTableCounts ProcessTable::counts() const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  ProcessTableCounts counts = s.reported;
  counts.processes = s.processes.size();
  counts.address_spaces = s.spaces.size();
  counts.stale_dropped = s.stale.refused();
  for (const auto& [id, space] : s.spaces) counts.mappings += space.mappings.size();
  return counts;
}

uint64_t ProcessTable::replaced_mappings() const {
  const std::shared_lock lock(state_->mutex);
  return state_->reported.replaced_mappings;
}

}  // namespace cicada::process

// SPDX-License-Identifier: Apache-2.0
// A turn of the tracker, after the events up to its horizon have been applied: images that have been opened meanwhile, scans, what the
// kernel is to see. A cycle (of the collection) is many turns; at its end the table forgets.
#include "process/tracking/process_table_state.h"

#include <algorithm>

namespace cicada::process {
namespace {

constexpr uint64_t kExecPatienceNs = 20'000'000;
constexpr uint64_t kOrphanPatienceNs = 2'000'000'000;
constexpr uint64_t kSoonNs = 50'000'000;

}  // namespace

void ProcessTable::State::re_resolve_ready() {
  for (const uint32_t image : images.take_ready()) {
    const std::unique_lock lock(mutex);
    for (const uint32_t id : pending_spaces) {
      const auto space = spaces.find(id);
      if (space != spaces.end() && space->second.mappings.re_resolve(image, images)) mark_dirty(id);
    }
    stale.re_resolve(image, images);
    for (auto& [pid, process] : processes) {
      for (PendingExec& pending : process.pending) pending.mappings.re_resolve(image, images);
    }
  }
  std::erase_if(pending_spaces, [&](uint32_t id) {
    const auto space = spaces.find(id);
    if (space == spaces.end()) return true;
    const auto mappings = space->second.mappings.mappings();
    return std::none_of(mappings.begin(), mappings.end(),
                        [](const Mapping& mapping) { return mapping.binding.state == BindingState::kPending; });
  });
}

bool ProcessTable::State::attend(uint64_t now, uint64_t horizon_ns) {
  bool more = false;
  const std::vector<Pid> all(attention.begin(), attention.end());
  for (const Pid pid : all) {
    Process* const found = find(pid);
    if (found == nullptr) {
      attention.erase(pid);
      continue;
    }
    Process& process = *found;
    if (process.scan && process.scan->end_ns <= horizon_ns) {
      const std::unique_lock lock(mutex);
      finish_scan(process);
    }
    if (process.awaiting_exec_events && now - std::min(now, process.awaiting_since_ns) > kExecPatienceNs) {
      process.awaiting_exec_events = false;
      process.rescan_wanted = true;
    }
    if (process.rescan_wanted && !process.scan && now >= process.next_scan_ns) {
      if (options.now_ns() - now < options.scan_budget_ns) start_scan(pid);
    }
    if (process.scan || process.awaiting_exec_events || (process.rescan_wanted && process.next_scan_ns < now + kSoonNs)) more = true;
    if (!process.scan && !process.awaiting_exec_events && !process.rescan_wanted) attention.erase(pid);
  }
  return more;
}

bool ProcessTable::State::publish_dirty(uint64_t now, uint64_t horizon_ns, uint64_t young_ns) {
  bool more = false;
  for (auto at = dirty.begin(); at != dirty.end();) {
    const auto space = spaces.find(*at);
    if (space != spaces.end() && space->second.dirty) {
      if (now < space->second.publish_not_before_ns) {
        more = true;
        ++at;
        continue;
      }
      // Whoever has come and gone between two turns needs no blocks: nothing runs there any more, and a rescue looks here. At 2,000
      // programs a second this is most of them.
      if (space->second.users.empty() && space->second.published.empty()) {
        space->second.dirty = false;
        at = dirty.erase(at);
        continue;
      }
      if (horizon_ns < space->second.exec_ns + young_ns && space->second.published.empty()) {
        more = true;
        ++at;
        continue;
      }
      if (space->second.mappings.size() > kLargeSpace) space->second.publish_not_before_ns = now + kLargeSpacePauseNs;
      if (publish(*at) && stale.open()) {
        const std::unique_lock lock(mutex);
        stale.mark_published(*at, options.now_ns());
      }
    }
    at = dirty.erase(at);
  }
  return more;
}

bool ProcessTable::advance(uint64_t horizon_ns, uint64_t young_ns) {
  State& s = *state_;
  const uint64_t now = s.options.now_ns();
  s.re_resolve_ready();
  const bool scans_wait = s.attend(now, horizon_ns);
  const bool spaces_wait = s.publish_dirty(now, horizon_ns, young_ns);
  s.report();
  return scans_wait || spaces_wait;
}

void ProcessTable::note_sampled(std::span<const uint32_t> address_spaces) {
  State& s = *state_;
  ++s.sampled_turn;
  for (const uint32_t id : address_spaces) {
    const auto at = s.spaces.find(id);
    if (at == s.spaces.end()) continue;
    at->second.last_sampled = s.sampled_turn;
    if (!at->second.evicted) continue;
    at->second.evicted = false;  // it is wanted again
    s.mark_dirty(id);
  }
}

void ProcessTable::end_cycle() {
  State& s = *state_;
  const uint64_t now = s.options.now_ns();
  std::vector<uint32_t> unused;
  for (const auto& [id, space] : s.spaces) {
    if (space.unused_in_cycle != 0 && space.unused_in_cycle < s.cycle) unused.push_back(id);
  }
  for (const uint32_t id : unused) {
    Space& space = s.spaces.at(id);
    const auto operations = block_difference(space.published, {});
    if (!operations.empty()) {
      const PublishOutcome outcome = s.publisher.publish(id, operations);
      if (outcome.applied != operations.size()) {
        s.set_published(space, after_operations(space.published, operations, outcome.applied));
        ++s.counts.publish_failures;
        continue;  // again in the next cycle
      }
      s.set_published(space, {});
    }
    const std::unique_lock lock(s.mutex);
    s.stale.forget(id, now);
    s.spaces.erase(id);
    s.dirty.erase(id);
    s.pending_spaces.erase(id);
  }
  const std::unique_lock lock(s.mutex);
  std::erase_if(s.exited, [&](const auto& entry) { return entry.second.cycle < s.cycle; });
  std::swap(s.short_lived, s.short_lived_before);
  s.short_lived.clear();
  std::erase_if(s.expected, [&](const auto& entry) { return entry.second + kOrphanPatienceNs < now; });
  std::erase_if(s.orphans, [&](const auto& entry) {
    if (entry.second.back().event.time_ns + kOrphanPatienceNs >= now) return false;
    s.orphan_count -= entry.second.size();
    s.counts.orphan_events += entry.second.size();
    return true;
  });
  s.stale.expire(now);
  ++s.cycle;
  s.reported = s.counts;
}

}  // namespace cicada::process

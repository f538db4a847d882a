// SPDX-License-Identifier: Apache-2.0
// The table's front: takes events, records and questions, and hands them to its parts (process_table_state.h).
#include <time.h>

#include <algorithm>
#include <cstring>

#include "process/proc_fs.h"
#include "process/process_table_state.h"

namespace cicada::process {
namespace {

constexpr uint64_t kExecPatienceNs = 20'000'000;
constexpr uint64_t kOrphanPatienceNs = 2'000'000'000;
constexpr size_t kMaxOrphanEvents = 65536;
constexpr size_t kMaxPassed = 16384;  // of a cycle: 0.9 MB
constexpr uint64_t kSoonNs = 50'000'000;

uint64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::string comm_of(const lifecycle_record& record) { return {record.comm, ::strnlen(record.comm, sizeof record.comm)}; }

}  // namespace

ProcessTable::ProcessTable(MappingPublisher& publisher, ImageSource& images, ThreadNames& names, Options options)
    : state_(std::make_unique<State>(publisher, images, names, std::move(options))) {
  if (!state_->options.read_maps) state_->options.read_maps = [](Pid pid) { return process::read_maps(pid, MapsFilter::kExecutable); };
  if (!state_->options.now_ns) state_->options.now_ns = monotonic_now;
}
ProcessTable::~ProcessTable() = default;

Result<void> ProcessTable::adopt(Pid pid) {
  const ProcStat stat = TRY(read_stat(pid));
  state_->names.scan(pid);
  if (stat.kernel_thread || (stat.state == 'Z' && thread_with_memory(pid) == pid)) return {};
  const process_value value = TRY(state_->publisher.adopt_process(pid, stat.start_ticks));
  const std::unique_lock lock(state_->mutex);
  const Process* known = state_->find(pid);
  if (known != nullptr && known->info.address_space == value.address_space) return {};
  Process& process = state_->create(pid, value.start_ns != 0 ? value.start_ns : stat.start_ticks * 10'000'000);
  process.info.parent_pid = stat.parent_pid;
  process.info.comm = stat.comm;
  process.born_ns = state_->options.now_ns();
  if (value.address_space == 0) return {};
  state_->join(process, value.address_space);
  state_->want_scan(process);
  state_->replay_orphans(pid);
  return {};
}

bool ProcessTable::wants(const MappingEvent& event) const {
  if (state_->options.whole_machine) return true;
  if (state_->processes.contains(event.pid) || state_->expected.contains(event.pid)) return true;
  return event.kind == MappingEventKind::kThreadFork &&
         (state_->processes.contains(event.parent_pid) || state_->expected.contains(event.parent_pid));
}

void ProcessTable::apply(const MappingEvent& event) {
  State& s = *state_;
  switch (event.kind) {
    case MappingEventKind::kThreadFork:
      s.names.inherit(event.pid, event.tid, event.parent_tid, event.time_ns);
      // perf tells of a fork before BPF does: a process that was born before this event has ended, and the event is its successor's.
      if (Process* known = event.pid == event.tid && event.pid != event.parent_pid ? s.find(event.pid) : nullptr;
          known != nullptr && known->born_ns < event.time_ns) {
        known->reused_ns = event.time_ns;
      }
      // A process seen first here: its fork record comes through the other ring. Until then, want what it maps.
      if (!s.options.whole_machine && event.pid == event.tid && event.pid != event.parent_pid && s.find(event.pid) == nullptr &&
          s.expected.size() < kMaxOrphanEvents) {
        s.expected.emplace(event.pid, event.time_ns);
      }
      return;
    case MappingEventKind::kThreadExit: s.names.end(event.tid); return;
    case MappingEventKind::kComm:
    case MappingEventKind::kExec: s.names.set(event.pid, event.tid, event.name); break;
    case MappingEventKind::kMap: break;
  }
  const std::unique_lock lock(s.mutex);
  Process* process = s.find(event.pid);
  if (process != nullptr && (process->reused_ns == 0 || event.time_ns < process->reused_ns)) return s.dispatch(*process, event);
  if (event.kind == MappingEventKind::kComm) return;
  if (s.orphan_count >= kMaxOrphanEvents) {
    ++s.counts.orphan_events;
    return;
  }
  s.orphans[event.pid].emplace_back(event);
  ++s.orphan_count;
}

void ProcessTable::apply(const lifecycle_record& record) {
  State& s = *state_;
  const std::unique_lock lock(s.mutex);
  Process* process = s.find(record.pid);
  const bool in_ticks = process != nullptr && process->info.start_ns % kNsPerTick == 0;  // an adopted one's
  const bool same = process != nullptr && (process->info.start_ns == record.start_ns || record.start_ns == 0 ||
                                           (in_ticks && to_ticks(process->info.start_ns) == to_ticks(record.start_ns)));
  if (same && record.start_ns != 0) process->info.start_ns = record.start_ns;  // adopted ones know theirs in ticks only
  switch (record.kind) {
    case RECORD_FORK:
      s.forked(record);
      s.replay_orphans(record.pid);
      break;
    case RECORD_EXEC:
      if (same && record.time_ns < process->space_since_ns) break;  // overtaken by a later exec
      if (!same) {
        process = &s.create(record.pid, record.start_ns);
        process->info.parent_pid = record.parent_pid;
        process->born_ns = record.time_ns;
        s.replay_orphans(record.pid);
      }
      s.exec_ends(*process, record);
      break;
    case RECORD_EXIT:
      if (!same) break;  // twice, or of an earlier process with this pid
      if (process->reused_ns == 0) s.expected.erase(record.pid);
      else if (!s.options.whole_machine) s.expected.emplace(record.pid, process->reused_ns);
      ++s.counts.exits;
      s.depart(*process);
      break;
    default: break;
  }
  if (process = s.find(record.pid); process != nullptr && record.comm[0] != 0 && process->info.comm.empty()) {
    process->info.comm = comm_of(record);
  }
}

void ProcessTable::pass(const lifecycle_record& record) {
  State& s = *state_;
  switch (record.kind) {
    case RECORD_FORK: ++s.counts.forks; break;
    case RECORD_EXEC: ++s.counts.execs; break;
    case RECORD_EXIT: {
      ++s.counts.exits;
      ++s.counts.passed;
      const std::unique_lock lock(s.mutex);
      if (s.passed.size() < kMaxPassed) s.passed.push_back(record);
      break;
    }
    default: break;
  }
}

void ProcessTable::report_lost() {
  for (auto& [pid, process] : state_->processes) {
    if (process.info.address_space != 0) state_->want_scan(process);
  }
}

void ProcessTable::request_rescan(Pid pid) {
  Process* process = state_->find(pid);
  if (process == nullptr || process->info.address_space == 0 || process->scan) return;
  const Space& space = state_->space_of(*process);
  if (space.dirty && space.published.empty() && space.mappings.size() != 0) return;  // known, and about to be shown
  state_->want_scan(*process);
}

bool ProcessTable::advance(uint64_t horizon_ns, uint64_t young_ns) {
  State& s = *state_;
  const uint64_t now = s.options.now_ns();
  bool more = false;
  for (const uint32_t image : s.images.take_settled()) {
    const std::unique_lock lock(s.mutex);
    for (const uint32_t id : s.pending_spaces) {
      const auto space = s.spaces.find(id);
      if (space != s.spaces.end() && space->second.mappings.place_again(image, s.images)) s.mark_dirty(id);
    }
    s.replacements.place_again(image, s.images);
    for (auto& [pid, process] : s.processes) {
      for (PendingExec& pending : process.pending) pending.mappings.place_again(image, s.images);
    }
  }
  std::erase_if(s.pending_spaces, [&](uint32_t id) {
    const auto space = s.spaces.find(id);
    if (space == s.spaces.end()) return true;
    const auto mappings = space->second.mappings.mappings();
    return std::none_of(mappings.begin(), mappings.end(),
                        [](const Mapping& mapping) { return mapping.placement.state == PlacementState::kPending; });
  });

  const std::vector<Pid> attention(s.attention.begin(), s.attention.end());
  for (const Pid pid : attention) {
    Process* const found = s.find(pid);
    if (found == nullptr) {
      s.attention.erase(pid);
      continue;
    }
    Process& process = *found;
    if (process.scan && process.scan->end_ns <= horizon_ns) {
      const std::unique_lock lock(s.mutex);
      s.finish_scan(process);
    }
    if (process.awaiting_exec_events && now - std::min(now, process.awaiting_since_ns) > kExecPatienceNs) {
      process.awaiting_exec_events = false;
      process.rescan_wanted = true;
    }
    if (process.rescan_wanted && !process.scan && now >= process.next_scan_ns) {
      if (s.options.now_ns() - now < s.options.scan_budget_ns) s.start_scan(pid);
    }
    if (process.scan || process.awaiting_exec_events || (process.rescan_wanted && process.next_scan_ns < now + kSoonNs)) more = true;
    if (!process.scan && !process.awaiting_exec_events && !process.rescan_wanted) s.attention.erase(pid);
  }

  for (auto at = s.dirty.begin(); at != s.dirty.end();) {
    const auto space = s.spaces.find(*at);
    if (space != s.spaces.end() && space->second.dirty) {
      if (now < space->second.publish_not_before_ns) {
        more = true;
        ++at;
        continue;
      }
      // Whoever has come and gone between two turns needs no blocks: nothing runs there any more, and a rescue looks here. At 2,000
      // programs a second this is most of them.
      if (space->second.users.empty() && space->second.published.empty()) {
        space->second.dirty = false;
        at = s.dirty.erase(at);
        continue;
      }
      if (horizon_ns < space->second.exec_ns + young_ns && space->second.published.empty()) {
        more = true;
        ++at;
        continue;
      }
      if (space->second.mappings.size() > kLargeSpace) space->second.publish_not_before_ns = now + kLargeSpacePauseNs;
      if (s.publish(*at) && s.replacements.open()) {
        const std::unique_lock lock(s.mutex);
        s.replacements.note_shown(*at, s.options.now_ns());
      }
    }
    at = s.dirty.erase(at);
  }
  s.report();
  return more;
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
      const PublishOutcome outcome = s.publisher.publish(id, operations, {});
      if (outcome.applied != operations.size()) {
        s.set_published(space, after_operations(space.published, operations, outcome.applied));
        ++s.counts.publish_failures;
        continue;  // again in the next cycle
      }
      s.set_published(space, {});
    }
    s.publisher.forget(id);
    const std::unique_lock lock(s.mutex);
    s.replacements.forget(id, now);
    s.spaces.erase(id);
    s.dirty.erase(id);
    s.pending_spaces.erase(id);
  }
  const std::unique_lock lock(s.mutex);
  std::erase_if(s.departed, [&](const auto& entry) { return entry.second.cycle < s.cycle; });
  std::swap(s.passed, s.passed_before);
  s.passed.clear();
  std::erase_if(s.expected, [&](const auto& entry) { return entry.second + kOrphanPatienceNs < now; });
  std::erase_if(s.orphans, [&](const auto& entry) {
    if (entry.second.back().event.time_ns + kOrphanPatienceNs >= now) return false;
    s.orphan_count -= entry.second.size();
    s.counts.orphan_events += entry.second.size();
    return true;
  });
  s.replacements.expire(now);
  ++s.cycle;
  s.reported = s.counts;
}

std::optional<ProcessInfo> ProcessTable::find_process(Pid pid, std::optional<SampledStart> start) const {
  const State& s = *state_;
  const auto fits = [&](uint64_t start_ns) { return !start || SampledStart::of(start_ns) == *start; };
  const std::shared_lock lock(s.mutex);
  if (const auto at = s.processes.find(pid); at != s.processes.end() && fits(at->second.info.start_ns)) return at->second.info;
  // With no proof asked for, the last who had the pid.
  const ProcessInfo* newest = nullptr;
  const auto [first, last] = s.departed.equal_range(pid);
  for (auto at = first; at != last; ++at) {
    const ProcessInfo& info = at->second.info;
    if (fits(info.start_ns) && (newest == nullptr || info.start_ns >= newest->start_ns)) newest = &info;
  }
  if (newest != nullptr) return *newest;
  return std::nullopt;
}

std::optional<ProcessInfo> ProcessTable::find_passed(Pid pid, SampledStart start) const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  for (const auto* exits : {&s.passed, &s.passed_before}) {
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

std::vector<Replacement> ProcessTable::find_replacements(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  const std::shared_lock lock(state_->mutex);
  return state_->replacements.find(address_space, pid, time_ns, later);
}

uint64_t ProcessTable::replaced_until_ns() const { return state_->replacements.until_ns(); }

const LatencyHistogram& ProcessTable::exec_latency() const { return state_->exec_latency; }
const LatencyHistogram& ProcessTable::map_latency() const { return state_->map_latency; }

ProcessTableCounts ProcessTable::counts() const {
  const State& s = *state_;
  const std::shared_lock lock(s.mutex);
  ProcessTableCounts counts = s.reported;
  counts.processes = s.processes.size();
  counts.address_spaces = s.spaces.size();
  counts.unkept_replacements = s.replacements.refused();
  for (const auto& [id, space] : s.spaces) counts.mappings += space.mappings.size();
  return counts;
}

uint64_t ProcessTable::replaced_mappings() const {
  const std::shared_lock lock(state_->mutex);
  return state_->reported.replaced_mappings;
}

}  // namespace cicada::process

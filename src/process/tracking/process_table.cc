// SPDX-License-Identifier: Apache-2.0
// The table's front: takes events and records, and hands them to its parts (process_table_state.h).
#include <time.h>

#include "process/procfs/proc_fs.h"
#include "process/tracking/process_table_state.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxOrphanEvents = 65536;
constexpr size_t kMaxShortLived = 16384;  // of a cycle: 0.9 MB

uint64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

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

void ProcessTable::note_short_lived(const lifecycle_record& record) {
  State& s = *state_;
  switch (record.kind) {
    case RECORD_FORK: ++s.counts.forks; break;
    case RECORD_EXEC: ++s.counts.execs; break;
    case RECORD_EXIT: {
      ++s.counts.exits;
      ++s.counts.short_lived;
      const std::unique_lock lock(s.mutex);
      if (s.short_lived.size() < kMaxShortLived) s.short_lived.push_back(record);
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

}  // namespace cicada::process

// SPDX-License-Identifier: Apache-2.0
#include "ingest/thread_table.h"

#include <algorithm>

#include "base/monotonic_clock.h"
#include "ingest/metadata_reader.h"
#include "process/metadata/metadata_cache.h"
#include "process/procfs/proc_fs.h"
#include "process/tracking/process_table.h"
#include "process/tracking/thread_names.h"

namespace cicada::ingest {
namespace {

// The low half of a start time, completed: it was in the last 497 days.
uint64_t full_ticks(uint32_t low) {
  const uint64_t ticks = clock_ns(CLOCK_BOOTTIME) / kNsPerTick;
  const uint64_t full = (ticks & ~uint64_t{0xffffffff}) | low;
  return full <= ticks ? full : full - (uint64_t{1} << 32);
}

uint64_t key_of(Pid pid, const SampledStart& start) { return uint64_t{static_cast<uint32_t>(pid)} << 32 | start.ticks_low; }
uint64_t key_of(size_t process, Tid tid) { return uint64_t{process} << 32 | static_cast<uint32_t>(tid); }

}  // namespace

const size_t* ThreadTable::find_process(Pid pid, const SampledStart& start) const {
  const auto known = process_index_.find(key_of(pid, start));
  if (known == process_index_.end()) return nullptr;
  const auto found = std::find_if(known->second.begin(), known->second.end(), [&](size_t index) { return processes_[index].start == start; });
  return found == known->second.end() ? nullptr : &*found;
}

size_t ThreadTable::process_of(const sample_record& sample) {
  const SampledStart start{sample.start_ticks_low, sample.start_in_tick};
  if (const size_t* known = find_process(sample.pid, start)) return *known;
  std::vector<size_t>& known = process_index_[key_of(sample.pid, start)];
  known.push_back(processes_.size());
  living_.push_back(processes_.size());
  processes_.push_back({profile_.intern_process(sample.pid, start.ns()), sample.pid, start, sample.time_ns});
  if (start.ticks_low != 0) metadata_reader_.request({sample.pid, full_ticks(start.ticks_low)}, sample.uid);
  return known.back();
}

// At once: who has woken somebody may be gone soon. A process of one thread is called as that is (refresh).
void ThreadTable::name_stranger(const sample_record& sample, profile::ThreadId thread, profile::ProcessId process) {
  const auto name_of = [&](const std::string& directory) {
    const Result<std::string> name = process::read_proc_file(directory + "/comm", 64);
    return name ? profile_.intern(name->substr(0, name->find('\n'))) : profile::StringId();
  };
  const std::string directory = fmt::format("/proc/{}", sample.pid);
  if (sample.tid != sample.pid && !profile_.processes()[process.value].name.valid()) profile_.edit_process(process, [&](auto& row) { row.name = name_of(directory); });
  profile_.edit_thread(thread, [&](auto& row) { row.name = name_of(fmt::format("{}/task/{}", directory, sample.tid)); });
}

profile::ThreadId ThreadTable::find_or_add(const sample_record& sample) {
  const size_t process = process_of(sample);
  const auto [at, added] = thread_index_.try_emplace(key_of(process, sample.tid));
  if (added) {
    at->second = profile_.intern_thread(processes_[process].id, sample.tid);
    profile_.edit_thread(at->second, [&](auto& row) { row.main = sample.tid == sample.pid; });
    threads_.push_back({at->second, sample.tid, process, sample.time_ns});
    if (sample.pid <= 0) {
      const char* name = sample.pid == INTERRUPT_ID ? "interrupts" : sample.pid == SOMEBODY_ID ? "somebody" : "idle";
      profile_.edit_process(processes_[process].id, [&](auto& row) { row.name = profile_.intern(name); });
      profile_.edit_thread(at->second, [&](auto& row) { row.name = profile_.intern(name); });
    } else if (processes_[process].start == SampledStart()) {  // nobody tells of it
      name_stranger(sample, at->second, processes_[process].id);
    }
  }
  return at->second;
}

void ThreadTable::add_cpu_time(const thread_time& thread) {
  const size_t* process = find_process(thread.pid, {thread.start_ticks_low, thread.start_in_tick});
  const auto found = process == nullptr ? thread_index_.end() : thread_index_.find(key_of(*process, thread.tid));
  if (found != thread_index_.end()) profile_.edit_thread(found->second, [&](auto& row) { row.cpu_ns = row.cpu_ns.value_or(0) + thread.ran_ns; });
}

bool ThreadTable::has_cpu_times() const {
  return std::all_of(threads_.begin(), threads_.end(), [&](const ThreadEntry& entry) {
    return processes_[entry.process].start == SampledStart() || profile_.threads()[entry.id.value].cpu_ns;
  });
}

void ThreadTable::refresh(ProcessEntry& entry, const process::ProcessTable& processes, const process::ProcessMetadataCache& metadata,
                          uint64_t known_until_ns) {
  if (entry.pid <= 0) return;
  const bool tracked = entry.start != SampledStart();
  const auto info = processes.find_process(entry.pid, tracked ? std::optional(entry.start) : std::nullopt);
  if (!info) {
    if (tracked && entry.seen_ns < known_until_ns) ++entry.strikes;
    return;
  }
  entry.strikes = 0;
  profile_.edit_process(entry.id, [&](profile::Process& process) {
    process.parent_pid = info->parent_pid;
    process.name = profile_.intern(info->comm);
    if (entry.described) return;
    const auto described = metadata.snapshot({entry.pid, info->start_ns / kNsPerTick});
    if (!described || !described->cmdline) return;
    entry.described = true;
    process.cmdline = profile_.intern(process::shown_arguments(*described->cmdline, metadata_reader_.arguments()));
    if (described->cgroup) process.cgroup = profile_.intern(*described->cgroup);
  });
}

void ThreadTable::refresh(const process::ProcessTable& processes, const process::ThreadNames& names,
                          const process::ProcessMetadataCache& metadata, uint64_t known_until_ns) {
  for (const size_t index : living_) refresh(processes_[index], processes, metadata, known_until_ns);
  for (const ThreadEntry& entry : threads_) {
    const profile::ProcessId id = processes_[entry.process].id;
    profile_.edit_thread(entry.id, [&](profile::Thread& thread) {
      if (const auto name = names.find(entry.tid, entry.seen_ns)) thread.name = profile_.intern(*name);
      else if (!thread.name.valid()) thread.name = profile_.processes()[id.value].name;
    });
    // Kernel threads have no address space, so the process table does not know them; each is a process of one thread.
    const profile::Thread& thread = profile_.threads()[entry.id.value];
    if (thread.main && !profile_.processes()[id.value].name.valid()) profile_.edit_process(id, [&](profile::Process& row) { row.name = thread.name; });
  }
  const auto gone = [&](size_t index) { return processes_[index].strikes >= kMaxStrikes; };
  std::erase_if(threads_, [&](const ThreadEntry& entry) { return gone(entry.process); });
  std::erase_if(living_, gone);
}

void ThreadTable::rebase(profile::RowCopier& ids) {
  constexpr size_t kGone = ~size_t{0};
  std::vector<size_t> moved(processes_.size(), kGone);
  size_t kept = 0;
  for (size_t i = 0; i < processes_.size(); ++i) {
    const auto copy = ids.find(processes_[i].id);
    if (!copy) continue;
    processes_[kept] = processes_[i];
    processes_[kept].id = *copy;
    moved[i] = kept++;
  }
  processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(kept), processes_.end());
  const auto move_or_erase = [&](size_t& process) { return (process = moved[process]) == kGone; };
  std::erase_if(living_, move_or_erase);
  for (auto& [key, known] : process_index_) std::erase_if(known, move_or_erase);
  std::erase_if(process_index_, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(threads_, [&](ThreadEntry& entry) {
    const auto copy = ids.find(entry.id);
    if (copy) entry.id = *copy;
    return !copy || move_or_erase(entry.process);
  });
  std::unordered_map<uint64_t, profile::ThreadId> index;
  for (const auto& [key, id] : thread_index_) {
    if (const auto copy = ids.find(id)) index[key_of(moved[key >> 32], static_cast<Tid>(key))] = *copy;
  }
  thread_index_ = std::move(index);
}

}  // namespace cicada::ingest

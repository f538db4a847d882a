// SPDX-License-Identifier: Apache-2.0
#include "collect/thread_table.h"

#include "process/metadata_cache.h"
#include "process/process_table.h"
#include "process/thread_names.h"

namespace cicada::collect {
namespace {

constexpr uint64_t kNsPerTick = 10'000'000;
constexpr size_t kMaxCmdline = 512;

std::string joined(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    text += argument;
    if (text.size() > kMaxCmdline) {
      text.resize(kMaxCmdline);
      return text + "…";
    }
  }
  return text;
}

}  // namespace

size_t ThreadTable::process_of(const sample_record& sample) {
  const uint64_t key = uint64_t{static_cast<uint32_t>(sample.pid)} << 32 | sample.start_ticks_low;
  const auto [at, added] = process_index_.try_emplace(key, processes_.size());
  if (added) {
    const profile::ProcessId id = profile_.intern_process(sample.pid, sample.start_ticks_low * kNsPerTick);
    processes_.push_back({id, sample.pid, sample.start_ticks_low});
  }
  return at->second;
}

profile::ThreadId ThreadTable::find_or_add(const sample_record& sample) {
  const size_t process = process_of(sample);
  const uint64_t key = uint64_t{process} << 32 | static_cast<uint32_t>(sample.tid);
  const auto [at, added] = thread_index_.try_emplace(key);
  if (added) {
    at->second = profile_.intern_thread(processes_[process].id, sample.tid);
    profile_.thread(at->second).main = sample.tid == sample.pid;
    threads_.push_back({at->second, sample.tid, process});
    if (sample.pid == 0) {
      profile_.process(processes_[process].id).name = profile_.intern("idle");
      profile_.thread(at->second).name = profile_.intern("idle");
    }
  }
  return at->second;
}

void ThreadTable::refresh(const process::ProcessTable& processes, const process::ThreadNames& names,
                          process::ProcessMetadataCache& metadata) {
  for (ProcessEntry& entry : processes_) {
    if (entry.pid == 0) continue;
    // Kernel threads come without a start time: the kernel side does not track them.
    const auto proof = entry.start_ticks_low == 0 ? std::nullopt : std::optional(entry.start_ticks_low);
    const auto info = processes.find_process(entry.pid, proof);
    if (!info) continue;
    profile_.process(entry.id).parent_pid = info->parent_pid;
    profile_.process(entry.id).name = profile_.intern(info->comm);
    if (entry.described) continue;
    entry.described = true;
    const ProcessKey key{entry.pid, info->start_ns / kNsPerTick};
    if (const auto cmdline = metadata.cmdline(key)) profile_.process(entry.id).cmdline = profile_.intern(joined(*cmdline));
    if (const auto cgroup = metadata.cgroup(key)) profile_.process(entry.id).cgroup = profile_.intern(*cgroup);
  }
  for (const ThreadEntry& entry : threads_) {
    if (const auto name = names.find(entry.tid)) {
      profile_.thread(entry.id).name = profile_.intern(*name);
    } else if (!profile_.thread(entry.id).name.valid()) {
      profile_.thread(entry.id).name = profile_.process(processes_[entry.process].id).name;
    }
  }
}

}  // namespace cicada::collect

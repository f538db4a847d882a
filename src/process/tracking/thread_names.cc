// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/thread_names.h"

#include <algorithm>
#include <cstring>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

template <size_t N>
void copy_comm(char (&to)[N], std::string_view from) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N - 1));
}

}  // namespace

// Null: no room.
ThreadNames::Entry* ThreadNames::find_or_add(Tid tid) {
  const auto at = threads_.find(tid);
  if (at != threads_.end()) return &at->second;
  return threads_.size() >= kMaxThreads ? nullptr : &threads_[tid];
}

void ThreadNames::set(Pid pid, Tid tid, std::string_view comm) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find_or_add(tid);
  if (entry == nullptr) return;
  entry->pid = pid;
  entry->ended_in_cycle = 0;
  copy_comm(entry->comm, comm);
}

void ThreadNames::inherit(Pid pid, Tid tid, Tid parent_tid, uint64_t time_ns) {
  const std::lock_guard lock(mutex_);
  Entry fresh;
  if (const auto parent = threads_.find(parent_tid); parent != threads_.end()) fresh = parent->second;
  fresh.pid = pid;
  fresh.begin_ns = time_ns;
  fresh.ended_in_cycle = 0;
  Entry* entry = find_or_add(tid);
  if (entry == nullptr) return;
  if (entry->ended_in_cycle != 0 && reused_.size() < kMaxThreads) reused_.emplace(tid, *entry);
  *entry = fresh;
}

void ThreadNames::end(Tid tid) {
  const std::lock_guard lock(mutex_);
  const auto at = threads_.find(tid);
  if (at == threads_.end() || at->second.ended_in_cycle != 0) return;
  at->second.ended_in_cycle = cycle_;
  ended_.push_back(tid);
}

void ThreadNames::scan(Pid pid) {
  for (const Tid tid : list_threads(pid)) {
    auto comm = read_proc_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), 64);
    if (!comm) continue;
    if (comm->ends_with('\n')) comm->pop_back();
    const std::lock_guard lock(mutex_);
    Entry* entry = find_or_add(tid);
    if (entry == nullptr) return;
    if (entry->pid == pid && entry->ended_in_cycle == 0 && entry->comm[0] != 0) continue;
    *entry = Entry{};
    entry->pid = pid;
    copy_comm(entry->comm, *comm);
  }
}

std::optional<std::string> ThreadNames::find(Tid tid, uint64_t time_ns) const {
  const std::lock_guard lock(mutex_);
  const auto at = threads_.find(tid);
  const Entry* found = at == threads_.end() ? nullptr : &at->second;
  if (found == nullptr || found->begin_ns > time_ns) {
    const auto [first, last] = reused_.equal_range(tid);
    const Entry* before = nullptr;
    for (auto earlier = first; earlier != last; ++earlier) {
      const Entry& entry = earlier->second;
      if (entry.begin_ns <= time_ns && (before == nullptr || entry.begin_ns > before->begin_ns)) before = &entry;
    }
    found = before;
  }
  return found == nullptr || found->comm[0] == 0 ? std::nullopt : std::optional<std::string>(found->comm);
}

void ThreadNames::end_cycle() {
  const std::lock_guard lock(mutex_);
  std::vector<Tid> remaining;
  for (const Tid tid : ended_) {
    const auto at = threads_.find(tid);
    if (at == threads_.end() || at->second.ended_in_cycle == 0) continue;  // the number has a new thread
    if (at->second.ended_in_cycle == cycle_) {
      remaining.push_back(tid);
    } else {
      threads_.erase(at);
    }
  }
  ended_ = std::move(remaining);
  std::erase_if(reused_, [&](const auto& entry) { return entry.second.ended_in_cycle < cycle_; });
  ++cycle_;
}

size_t ThreadNames::size() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

}  // namespace cicada::process

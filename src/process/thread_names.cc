// SPDX-License-Identifier: Apache-2.0
#include "process/thread_names.h"

#include <algorithm>
#include <cstring>

#include "process/proc_fs.h"

namespace cicada::process {
namespace {

template <size_t N>
void copy_comm(char (&to)[N], std::string_view from) {
  std::memset(to, 0, N);
  std::memcpy(to, from.data(), std::min(from.size(), N - 1));
}

}  // namespace

void ThreadNames::set(Pid pid, Tid tid, std::string_view comm) {
  const std::lock_guard lock(mutex_);
  auto at = threads_.find(tid);
  if (at == threads_.end()) {
    if (threads_.size() >= kMaxThreads) return;
    at = threads_.emplace(tid, Entry{}).first;
  }
  at->second.pid = pid;
  at->second.ended_in_cycle = 0;
  copy_comm(at->second.comm, comm);
}

void ThreadNames::inherit(Pid pid, Tid tid, Tid parent_tid) {
  const std::lock_guard lock(mutex_);
  const auto parent = threads_.find(parent_tid);
  Entry entry = parent == threads_.end() ? Entry{} : parent->second;
  if (parent == threads_.end()) {
    threads_.erase(tid);  // whatever an earlier thread of this number was called
    return;
  }
  if (threads_.size() >= kMaxThreads && !threads_.contains(tid)) return;
  entry.pid = pid;
  entry.ended_in_cycle = 0;
  threads_[tid] = entry;
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
    const auto at = threads_.find(tid);
    if (at != threads_.end() && at->second.pid == pid && at->second.ended_in_cycle == 0) continue;
    if (at == threads_.end() && threads_.size() >= kMaxThreads) return;
    Entry entry;
    entry.pid = pid;
    copy_comm(entry.comm, *comm);
    threads_[tid] = entry;
  }
}

std::optional<std::string> ThreadNames::find(Tid tid) const {
  const std::lock_guard lock(mutex_);
  const auto at = threads_.find(tid);
  if (at == threads_.end()) return std::nullopt;
  return std::string(at->second.comm);
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
  ++cycle_;
}

size_t ThreadNames::size() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

}  // namespace cicada::process

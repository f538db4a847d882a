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

void ThreadNames::put(Tid tid, const Entry& entry) {
  if (threads_.size() < kMaxThreads || threads_.contains(tid)) threads_[tid] = entry;
}

void ThreadNames::set(Pid pid, Tid tid, std::string_view comm) {
  const std::lock_guard lock(mutex_);
  const auto known = threads_.find(tid);
  Entry entry = known == threads_.end() ? Entry{} : known->second;
  entry.pid = pid;
  copy_comm(entry.comm, comm);
  put(tid, entry);
}

void ThreadNames::inherit(Pid pid, Tid tid, Tid parent_tid, uint64_t time_ns) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  if (const auto parent = threads_.find(parent_tid); parent != threads_.end()) entry = parent->second;
  entry.pid = pid;
  entry.begin_ns = time_ns;
  put(tid, entry);
}

void ThreadNames::end(Tid tid) {
  const std::lock_guard lock(mutex_);
  const auto node = threads_.extract(tid);
  if (!node.empty()) ended_.add(tid, node.mapped());
}

void ThreadNames::scan(Pid pid) {
  for (const Tid tid : list_threads(pid)) {
    auto comm = read_proc_file(fmt::format("/proc/{}/task/{}/comm", pid, tid), 64);
    if (!comm) continue;
    if (comm->ends_with('\n')) comm->pop_back();
    const std::lock_guard lock(mutex_);
    if (const auto known = threads_.find(tid); known != threads_.end() && known->second.pid == pid && known->second.comm[0] != 0) continue;
    Entry entry{pid, {}, 0};
    copy_comm(entry.comm, *comm);
    put(tid, entry);
  }
}

std::optional<std::string> ThreadNames::find(Tid tid, uint64_t time_ns) const {
  const std::lock_guard lock(mutex_);
  const auto at = threads_.find(tid);
  const Entry* found = at == threads_.end() ? nullptr : &at->second;
  if (found == nullptr || found->begin_ns > time_ns) {
    found = ended_.find(tid, &Entry::begin_ns, [&](const Entry& entry) { return entry.begin_ns <= time_ns; });
  }
  return found == nullptr || found->comm[0] == 0 ? std::nullopt : std::optional<std::string>(found->comm);
}

void ThreadNames::end_cycle() {
  const std::lock_guard lock(mutex_);
  ended_.end_cycle();
}

size_t ThreadNames::size() const {
  const std::lock_guard lock(mutex_);
  return threads_.size() + ended_.size();
}

}  // namespace cicada::process

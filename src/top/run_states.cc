// SPDX-License-Identifier: Apache-2.0
#include "top/run_states.h"

#include <fmt/format.h>

#include "process/procfs/proc_fs.h"

namespace cicada::top {
namespace {

constexpr size_t kMostStat = 4096;

char read_state(Pid pid, uint64_t start_ns, Tid tid) {
  const auto process = process::read_stat(pid);
  if (!process || process->start_ticks != process::to_ticks(start_ns)) return 0;
  if (tid == pid) return process->state;
  const auto text = process::read_proc_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), kMostStat);
  const auto thread = text ? process::find_stat(*text) : std::nullopt;
  return thread ? thread->state : '\0';
}

}  // namespace

char RunStates::of(Pid pid, uint64_t start_ns, Tid tid) {
  if (read_.size() > kMost) read_.clear();
  Read& read = read_[{pid, start_ns, tid}];
  const Clock::time_point now = Clock::now();
  if (read.at == Clock::time_point() || now - read.at >= std::chrono::seconds(1)) read = {read_state(pid, start_ns, tid), now};
  return read.state;
}

}  // namespace cicada::top

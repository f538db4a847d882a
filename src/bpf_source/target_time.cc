// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/target_time.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "process/procfs/proc_fs.h"

namespace cicada::bpf_source {
namespace {

// Fields `first` and `first` + 1 of a stat file, as proc(5) counts them: user and system time, in ns.
std::optional<uint64_t> read_stat_ns(const std::string& path, int first) {
  const auto text = process::read_proc_file(path, 4096);
  if (!text) return std::nullopt;
  size_t at = text->rfind(')');  // the name may hold anything
  for (int field = 2; field < first && at != std::string::npos; ++field) at = text->find(' ', at + 1);
  uint64_t ticks = 0;
  for (int i = 0; i < 2; ++i) {
    uint64_t value = 0;
    if (at == std::string::npos || std::from_chars(text->data() + at + 1, text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
    ticks += value;
    at = text->find(' ', at + 1);
  }
  return ticks * (1'000'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)));
}

// Of a process, dead threads included, and of the children that it waited for. Zombies have it, too.
std::optional<uint64_t> process_ns(Pid pid) {
  clockid_t clock{};
  timespec now{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &now) != 0) return std::nullopt;
  const uint64_t own = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  return own + read_stat_ns(fmt::format("/proc/{}/stat", pid), 16).value_or(0);
}

// Of one thread: /proc/TID/stat itself has the sum of its process. To the ns where the kernel tells (without CONFIG_SCHEDSTATS it may say 0), else to the tick.
std::optional<uint64_t> thread_ns(Tid tid) {
  const auto text = process::read_proc_file(fmt::format("/proc/{0}/task/{0}/schedstat", tid), 256);
  uint64_t ran_ns = 0;
  if (text && std::from_chars(text->data(), text->data() + text->size(), ran_ns).ec == std::errc() && ran_ns != 0) return ran_ns;
  return read_stat_ns(fmt::format("/proc/{0}/task/{0}/stat", tid), 14);
}

std::optional<uint64_t> clock_ns(TargetKind kind, int id) { return kind == TargetKind::kThreads ? thread_ns(id) : process_ns(id); }

}  // namespace

TargetTime::TargetTime(const SamplingConfig& config) : kind_(config.targets), countable_(config.events.cpus.empty() && !asks(config.asked)) {
  if (kind_ == TargetKind::kMachine) cpus_before_ = read_cpu_times();
  const std::vector<int>& ids = kind_ == TargetKind::kThreads ? config.tids : config.pids;
  for (const int id : ids) targets_[id].before_ns = clock_ns(kind_, id).value_or(0);
  look();
}

void TargetTime::look() {
  for (auto& [id, clock] : targets_) clock.now_ns = clock_ns(kind_, id).value_or(clock.now_ns);
}

uint64_t TargetTime::used_ns(const std::vector<Pid>& alive) {
  const uint64_t used = paused_at_ns_ ? *paused_at_ns_ : used_with_pauses_ns(alive);
  return used - std::min(used, in_pauses_ns_);
}

uint64_t TargetTime::pause(bool paused, const std::vector<Pid>& alive) {
  if (paused == paused_at_ns_.has_value()) return used_ns(alive);
  const uint64_t used = used_with_pauses_ns(alive);
  if (paused) {
    paused_at_ns_ = used;
  } else {
    in_pauses_ns_ += used - std::min(used, *paused_at_ns_);
    paused_at_ns_.reset();
  }
  return used - std::min(used, in_pauses_ns_);
}

uint64_t TargetTime::used_with_pauses_ns(const std::vector<Pid>& alive) {
  if (!countable_) return 0;
  uint64_t used = 0;
  if (kind_ == TargetKind::kMachine) {
    for (const auto& [cpu, time] : read_cpu_times()) used += (time - cpus_before_[cpu]).busy;
    return used;
  }
  look();
  for (const auto& [id, clock] : targets_) used += clock.now_ns - std::min(clock.now_ns, clock.before_ns);
  for (const Pid pid : alive) {
    if (kind_ == TargetKind::kProcesses && !targets_.contains(pid)) used += process_ns(pid).value_or(0);
  }
  return used;
}

}  // namespace cicada::bpf_source

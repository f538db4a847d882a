// SPDX-License-Identifier: Apache-2.0
// How much CPU time the target used since the start, by the scheduler's own account, without what it used in pauses: what the samples should
// add up to.
// Of processes: the process clocks of the targets and of those that they forked and that still run, and what their children had used that they
// waited for; of threads their own. A target that ended unseen counts with what was seen last. Threads: one at a time.
#pragma once
#include <map>
#include <optional>

#include "bpf_source/cpu_times.h"
#include "bpf_source/sampling_config.h"

namespace cicada::bpf_source {

class TargetTime {
 public:
  // Reads the clocks: now is the start.
  explicit TargetTime(const SamplingConfig& config);
  // False: samples are of a part of the target only, and nobody can tell of how much.
  bool is_countable() const { return countable_; }
  // About once a second.
  void look();
  // `alive`: of the targets' processes and their descendants. 0: nobody can tell (samples are of some CPUs only).
  uint64_t used_ns(const std::vector<Pid>& alive);
  // What is used until pause(false) does not count. used_ns() until then.
  uint64_t pause(bool paused, const std::vector<Pid>& alive);

 private:
  struct Clock {
    uint64_t before_ns = 0, now_ns = 0;
  };
  uint64_t used_with_pauses_ns(const std::vector<Pid>& alive);

  TargetKind kind_;
  bool countable_;
  CpuTimes cpus_before_;
  std::map<int, Clock> targets_;  // by pid or tid
  uint64_t in_pauses_ns_ = 0;     // of those that are over
  std::optional<uint64_t> paused_at_ns_;
};

}  // namespace cicada::bpf_source

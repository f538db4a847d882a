// SPDX-License-Identifier: Apache-2.0
// What to sample, how often, and how. Plain data; validated by whoever opens a source with it.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "base/process_key.h"
#include "collect/perf_events.h"
#include "collect/bpf_object.h"
#include "process/tracking/process_table.h"

namespace cicada::collect {

struct SamplingConfig {
  TargetKind targets = TargetKind::kMachine;
  std::vector<Pid> pids;  // kProcesses: these and what they fork from now on
  bool from_exec = false;  // kProcesses: from their next exec on; a child that waits to be released is cicada's code until then
  std::vector<Tid> tids;  // kThreads
  PerfEventOptions events;
  bool kernel_frames = true;
  bool include_idle = false;  // idle samples are stored; otherwise only counted
  UnwindMode unwind = UnwindMode::kAuto;
  uint64_t max_map_memory_bytes = uint64_t{64} << 20;
  bool read_environments = false;  // at exec and first sample: Session::metadata().environ_var() then answers for the dead, too
};

// What happens to processes, for whoever embeds the engine. Called on the tracker's thread; must not block.
struct LifecycleCallbacks {
  std::function<void(const process::ProcessInfo&)> on_fork, on_exec, on_exit;
};

}  // namespace cicada::collect

// SPDX-License-Identifier: Apache-2.0
// What to sample, how often, and how. Plain data; validated by whoever opens a source with it.
#pragma once
#include <cstdint>
#include <vector>

#include "base/process_key.h"
#include "bpf_source/perf_events.h"
#include "bpf_source/bpf_object.h"
#include "ingest/image_unwinders.h"

namespace cicada::bpf_source {

inline bool asks(const asked_tasks& asked) { return (asked.users | asked.processes | asked.threads | asked.cgroups) != 0; }

struct SamplingConfig {
  TargetKind targets = TargetKind::kMachine;
  std::vector<Pid> pids;  // kProcesses: these and what they fork from now on
  bool from_exec = false;  // kProcesses: from their next exec on; a child that waits to be released is cicada's code until then
  std::vector<Tid> tids;  // kThreads
  asked_tasks asked = {};  // of the targets only these
  PerfEventOptions events;
  bool kernel_frames = true;
  uint64_t min_wait_ns = 0, max_wait_ns = ~uint64_t{0};  // off-cpu: others are left out
  bool kernel_thread_waits = false;
  bool include_idle = false;  // idle samples are stored; otherwise only counted
  unwind_mode unwind = UNWIND_AUTO;
  uint64_t max_map_memory_bytes = uint64_t{64} << 20;
  bool with_arguments = false;     // of processes: kept in the profile, secrets masked; else their programs only
  std::shared_ptr<ingest::ImageUnwinders::Reader> image_reader = {};  // empty: in this process
  bool read_environments = false;  // at exec and first sample: Session::metadata().environ_var() then answers for the dead, too
};

}  // namespace cicada::bpf_source

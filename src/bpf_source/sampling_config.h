// SPDX-License-Identifier: Apache-2.0
// What to sample, how often, and how. Plain data; validated by whoever opens a source with it.
#pragma once
#include <cstdint>
#include <vector>

#include "abi/settings.h"
#include "base/process_key.h"
#include "bpf_source/event_spec.h"

namespace cicada::bpf_source {

enum class TargetKind : uint8_t { kMachine, kProcesses, kThreads };

struct PerfEventOptions {
  std::vector<EventSpec> events = {};  // empty: cycles where the machine has them, else cpu-clock
  // Of events that say none: the period, unless 0, else the frequency.
  uint64_t frequency_hz = 99;
  uint64_t period = 0;
  std::vector<int> cpus = {};  // empty: all online, and those that come online
};

inline bool asks(const asked_tasks& asked) { return (asked.users | asked.processes | asked.threads | asked.cgroups) != 0; }

struct SamplingConfig {
  TargetKind targets = TargetKind::kMachine;
  std::vector<Pid> pids;  // kProcesses: these and what they fork from now on
  bool from_exec = false;  // kProcesses: from their next exec on; a child that waits to be released is cicada's code until then
  std::vector<Tid> tids;  // kThreads
  asked_tasks asked = {};  // of the targets only these
  PerfEventOptions events;
  bool stacks = true;  // false: samples have none, and are counted only
  bool kernel_frames = true;
  uint64_t min_wait_ns = 0, max_wait_ns = ~uint64_t{0};  // off-cpu: others are left out
  bool kernel_thread_waits = false;
  bool include_idle = false;  // idle samples are stored; otherwise only counted
  unwind_mode unwind = UNWIND_AUTO;
  uint64_t max_map_memory_bytes = uint64_t{64} << 20;
  bool with_arguments = false;     // of processes: kept in the profile, secrets masked; else their programs only
  bool read_environments = false;  // at exec and first sample: Session::metadata().environ_var() then answers for the dead, too
};

}  // namespace cicada::bpf_source

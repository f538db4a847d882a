// SPDX-License-Identifier: Apache-2.0
// What each CPU did since boot, by the kernel's own account. Threads: any.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>

namespace cicada::bpf_source {

// In ns, to a tick (10 ms) each.
struct CpuTime {
  uint64_t busy = 0;    // tasks, interrupts
  uint64_t idle = 0;    // waiting for I/O included
  uint64_t stolen = 0;  // the hypervisor ran something else
  CpuTime operator-(const CpuTime& before) const;  // 0 where the kernel counts backwards
  bool operator==(const CpuTime&) const = default;
};
using CpuTimes = std::map<int, CpuTime>;  // by CPU

// /proc/stat; empty where it cannot be read.
CpuTimes read_cpu_times();
CpuTimes parse_cpu_times(std::string_view proc_stat, uint64_t ticks_per_second);

}  // namespace cicada::bpf_source

// SPDX-License-Identifier: Apache-2.0
// How long each CPU has slept since boot, by the kernel's own account. Threads: any.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>

namespace cicada::bpf_source {

using IdleTimes = std::map<int, uint64_t>;  // CPU -> ns, to a tick (10 ms)

// /proc/stat, idle and waiting for I/O; empty where it cannot be read.
IdleTimes read_idle_times();
IdleTimes parse_idle_times(std::string_view proc_stat, uint64_t ticks_per_second);

}  // namespace cicada::bpf_source

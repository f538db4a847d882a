// SPDX-License-Identifier: Apache-2.0
// Who a process is. A pid alone is reused; (pid, start time) is not.
#pragma once
#include <compare>
#include <cstdint>

namespace cicada {

using Pid = int32_t;  // the process: the kernel's tgid, as in the initial pid namespace
using Tid = int32_t;  // the thread: the kernel's pid

inline constexpr uint64_t kNsPerTick = 10'000'000;  // USER_HZ is 100

struct ProcessKey {
  Pid pid = 0;
  uint64_t start_ticks = 0;  // leader's start, USER_HZ ticks since boot: field 22 of /proc/PID/stat
  auto operator<=>(const ProcessKey&) const = default;
};

// The start of a process in a sample_record. Finer than a tick, in which a pid can be used again.
struct SampledStart {
  uint32_t ticks_low = 0;
  uint16_t in_tick = 0;  // 1/65536 of a tick
  static constexpr SampledStart of(uint64_t start_ns) {
    return {static_cast<uint32_t>(start_ns / kNsPerTick), static_cast<uint16_t>((start_ns % kNsPerTick << 16) / kNsPerTick)};
  }
  constexpr uint64_t ns() const { return ticks_low * kNsPerTick + (in_tick * kNsPerTick >> 16); }
  bool operator==(const SampledStart&) const = default;
};

}  // namespace cicada

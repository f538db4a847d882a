// SPDX-License-Identifier: Apache-2.0
// The clock of every record: CLOCK_MONOTONIC in ns, as bpf_ktime_get_ns() and our perf events have it.
#pragma once
#include <time.h>

#include <cstdint>

namespace cicada {

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace cicada

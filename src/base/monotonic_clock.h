// SPDX-License-Identifier: Apache-2.0
// The clock of every record: CLOCK_MONOTONIC in ns, as bpf_ktime_get_ns() and our perf events have it.
#pragma once
#include <time.h>

#include <cstdint>

namespace cicada {

inline uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace cicada

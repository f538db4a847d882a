// SPDX-License-Identifier: Apache-2.0
// CPU time, which a busy machine does not lengthen, of the thread (CLOCK_THREAD_CPUTIME_ID) or the process (CLOCK_PROCESS_CPUTIME_ID).
#pragma once
#include <time.h>

#include <chrono>

namespace cicada {

inline std::chrono::nanoseconds cpu_time(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// CPU time that other processes have used for what this thread does, as far as whoever asks them adds it here (parser/parsers.h).
inline std::chrono::nanoseconds& delegated_cpu_time() {
  thread_local std::chrono::nanoseconds used{};
  return used;
}

// Of this thread, with that.
inline std::chrono::nanoseconds work_time() { return cpu_time() + delegated_cpu_time(); }

}  // namespace cicada

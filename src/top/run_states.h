// SPDX-License-Identifier: Apache-2.0
// What processes and threads do right now, as the kernel says it. It is read from /proc when somebody looks, of each at most once a second.
// Threads: one.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/process_key.h"

namespace cicada::top {

class RunStates {
 public:
  // 'R' running or ready to, 'S' sleeping, 'D' waiting for a device, 'T' stopped, 'Z' ended and not waited for, as proc(5) has them. 0: there is none any more, or
  // it is not shown to us. `start_ns`: of the process, since boot; another one may have its number by now. A process says what its first thread does.
  char of(Pid pid, uint64_t start_ns, Tid tid);

 private:
  using Clock = std::chrono::steady_clock;
  struct Read {
    char state = 0;
    Clock::time_point at;
  };
  static constexpr size_t kMost = 10'000;  // then it begins anew
  std::map<std::tuple<Pid, uint64_t, Tid>, Read> read_;
};

}  // namespace cicada::top

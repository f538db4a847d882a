// SPDX-License-Identifier: Apache-2.0
// Who a process is. A pid alone is reused; (pid, start time) is not.
#pragma once
#include <compare>
#include <cstdint>

namespace cicada {

using Pid = int32_t;  // the process: the kernel's tgid, as in the initial pid namespace
using Tid = int32_t;  // the thread: the kernel's pid

struct ProcessKey {
  Pid pid = 0;
  uint64_t start_ticks = 0;  // leader's start, USER_HZ ticks since boot: field 22 of /proc/PID/stat
  auto operator<=>(const ProcessKey&) const = default;
};

}  // namespace cicada

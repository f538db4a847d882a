// SPDX-License-Identifier: Apache-2.0
// A process, as it is now. Plain data.
#pragma once
#include <cstdint>
#include <string>

#include "base/process_key.h"

namespace cicada::process {

struct ProcessInfo {
  Pid pid = 0;
  Pid parent_pid = 0;
  uint64_t start_ns = 0;  // since boot
  uint32_t address_space = 0;
  std::string comm;
};

}  // namespace cicada::process

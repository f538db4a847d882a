// SPDX-License-Identifier: Apache-2.0
// CPUs as the kernel and people list them: "0-3,8". Threads: any.
#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cicada {

// Each once, ascending; a newline ends the list. `what` is what errors call it: "--cpu".
// Fails (kInvalid): not such a list, no CPU in it, or a number no kernel has.
Result<std::vector<int>> parse_cpu_list(std::string_view text, std::string_view what);
// /sys/devices/system/cpu/online.
Result<std::vector<int>> online_cpus();

}  // namespace cicada

// SPDX-License-Identifier: Apache-2.0
// Who records. Threads: any.
#pragma once
#include <vector>

#include "base/process_key.h"

namespace cicada::bpf_source {

// This process, and those that it started without another program: readers of files, viewers. What they start from now on is as they are.
std::vector<Pid> own_processes();

}  // namespace cicada::bpf_source

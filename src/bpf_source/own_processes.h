// SPDX-License-Identifier: Apache-2.0
// Who records. Threads: any.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "base/process_key.h"

namespace cicada::bpf_source {

// This process, and those that it started without another program: readers of files, viewers. What they start from now on is as they are.
std::vector<Pid> own_processes();

// Files that a process maps, held before its exec, only because it is a copy of this one: not what its program will map. Empty if that is not known.
std::set<std::string> own_files_of(Pid held);

}  // namespace cicada::bpf_source

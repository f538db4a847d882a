// SPDX-License-Identifier: Apache-2.0
// Functions of the kernel that are not to be probed. Threads: any.
#pragma once
#include <string_view>

namespace cicada::bpf_source {

// A sample is taken with it, perhaps under a lock: of rings, maps, copies of stacks. A probe there runs in the middle of a sample of another sort, and would wait for a lock
// that this one has.
bool is_used_by_programs(std::string_view function);

}  // namespace cicada::bpf_source

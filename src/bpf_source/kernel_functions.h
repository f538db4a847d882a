// SPDX-License-Identifier: Apache-2.0
// Functions and tracepoints of the kernel that are not to be probed. Threads: any.
#pragma once
#include <string_view>

namespace cicada::bpf_source {

// A sample is taken with it, perhaps under a lock: of rings, maps, copies of stacks. A probe there runs in the middle of a sample of another sort, and would wait for a lock
// that this one has.
bool is_used_by_programs(std::string_view function);

// A tracepoint, by its own name, that is passed with a spin lock held: it may be one that a sample is taken with. A probe there waits for that lock for ever, if the kernel's
// locks do not find out who has them (KernelTypes::locks_know_their_owners()).
bool is_passed_under_locks(std::string_view tracepoint);

}  // namespace cicada::bpf_source

// SPDX-License-Identifier: Apache-2.0
// Threads that wait already when a recording begins, and still when it ends (bpf/blocked.bpf.c). While waits are attached.
// And how long all threads ran between two looks, by the scheduler's account.
// Cost: some us a thread of the machine; for one that is taken what its stack costs (process/procfs/stack_reader.h). Threads: one at a time.
#pragma once
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "bpf_source/bpf_object.h"

namespace cicada::bpf_source {

// From now on these wait, too.
Result<void> note_blocked_threads(BpfObject& kernel);

// Where records go: those in the ring, and then one that was not there (a sample, or the request that follows it).
struct BlockedRecords {
  std::function<void()> drain_ring;
  std::function<void(std::span<const uint8_t> record)> take;
};
Result<void> take_blocked_threads(BpfObject& kernel, const BlockedRecords& records);

// Records of all threads that live.
Result<void> take_thread_times(BpfObject& kernel, const std::function<void(std::span<const uint8_t> record)>& take);

}  // namespace cicada::bpf_source

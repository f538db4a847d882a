// SPDX-License-Identifier: Apache-2.0
// Reads what profiles show of a process beside its code (command line, cgroup, environment) into the metadata cache while the process
// lives, on threads of its own: these files wait for the target's memory lock, and neither the drain thread nor the tracker may.
//
//   drain thread: first sample ──┐
//   tracker: exec (environments) ┴▶ queue ──▶ worker ──▶ ProcessMetadataCache ──▶ snapshot(), environ_var()
//
// Bounded: what does not fit the queue is not described, and counted; users take turns, and one of them has one worker at most. How long a
// target that does not give its memory lock back keeps that, who reads for the cache says (process::ProcReaders).
// Threads: any. Shares the cache with its workers.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/work_queue.h"
#include "process/metadata/arguments.h"
#include "process/metadata/metadata_cache.h"

namespace cicada::ingest {

class MetadataReader {
 public:
  static constexpr size_t kMaxQueued = 4096;
  static constexpr auto kSyncTimeout = std::chrono::milliseconds(200);

  MetadataReader(std::shared_ptr<process::ProcessMetadataCache> cache, bool environments, process::Arguments arguments = process::Arguments::kProgram);

  // Never waits. `owner`: the user who runs it.
  void request(ProcessKey key, uint32_t owner);
  // Waits until what was requested has been read, kSyncTimeout at most.
  void sync() { queue_.wait_idle(kSyncTimeout); }
  process::Arguments arguments() const { return arguments_; }  // that a profile keeps
  uint64_t refused() const { return queue_.counts().refused; }

 private:
  std::shared_ptr<process::ProcessMetadataCache> cache_;
  const bool environments_;
  const process::Arguments arguments_;
  WorkQueue queue_;
};

}  // namespace cicada::ingest

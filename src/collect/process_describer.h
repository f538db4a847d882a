// SPDX-License-Identifier: Apache-2.0
// Reads what profiles show of a process beside its code (command line, cgroup, environment) into the metadata cache while the process
// lives, on a thread of its own: these files wait for the target's memory lock, and neither the drain thread nor the tracker may.
//
//   drain thread: first sample ──┐
//   tracker: exec (environments) ┴▶ queue ──▶ worker ──▶ ProcessMetadataCache ──▶ snapshot(), environ_var()
//
// Bounded: what does not fit the queue is not described, and counted. A target whose memory lock is never given back costs the worker,
// and is left behind at the end.
// Threads: any. Shares the cache with its worker.
#pragma once
#include <cstdint>
#include <memory>

#include "process/metadata/metadata_cache.h"

namespace cicada::collect {

class ProcessDescriber {
 public:
  static constexpr size_t kMaxQueued = 4096;

  ProcessDescriber(std::shared_ptr<process::ProcessMetadataCache> cache, bool environments);
  ~ProcessDescriber();
  ProcessDescriber(const ProcessDescriber&) = delete;
  ProcessDescriber& operator=(const ProcessDescriber&) = delete;

  // Never waits.
  void request(ProcessKey key);
  // Waits until what was requested has been read, kPatience at most.
  void sync();
  uint64_t refused() const;

 private:
  struct State;  // shared with the worker, so that one that hangs can be left behind
  std::shared_ptr<State> state_;
};

}  // namespace cicada::collect

// SPDX-License-Identifier: Apache-2.0
// Samples that wait until the tracker has applied all that had happened when they arrived. Only then is it known whether the code that the walk
// named was still there (process/tracking/stale_mappings.h). Those whose walk user space has finished are behind what arrived meanwhile. Usually
// two looks at the ring long, 96 bytes each.
// Threads: the drain thread's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "abi/records.h"
#include "profile/row_copier.h"

namespace cicada::ingest {

struct PendingSample {
  sample_record sample;
  profile::ThreadId thread;
  uint64_t arrived_ns = 0;  // CLOCK_MONOTONIC; after the lifecycle records that came before it were passed on
  std::optional<profile::StackId> user;  // as user space finished it; nothing: the one that the sample's record names
};

class PendingSamples {
 public:
  // A stuck tracker neither stalls the profile nor fills the memory: 13 MB; half a second of 997 Hz on 256 CPUs.
  static constexpr size_t kMax = 1 << 17;
  static constexpr uint64_t kMaxWaitNs = 2'000'000'000;

  void push(const PendingSample& held) { samples_.push_back(held); }
  // The oldest, if it need not wait: all up to its arrival has been applied, or it is overdue. Null: none.
  const PendingSample* ready(uint64_t watermark_ns, uint64_t now_ns) const {
    if (samples_.empty()) return nullptr;
    const PendingSample& oldest = samples_.front();
    return watermark_ns > oldest.arrived_ns || overdue(oldest, now_ns) ? &oldest : nullptr;
  }
  bool overdue(const PendingSample& held, uint64_t now_ns) const { return samples_.size() > kMax || now_ns > held.arrived_ns + kMaxWaitNs; }
  void pop() { samples_.pop_front(); }
  void rebase(profile::RowCopier& ids) {
    for (PendingSample& held : samples_) {
      held.thread = ids.thread(held.thread);
      if (held.user) held.user = ids.stack(*held.user);
    }
  }
  size_t size() const { return samples_.size(); }
  // Those whose walk was finished late are not in order.
  bool has_from_before(uint64_t time_ns) const {
    return std::any_of(samples_.begin(), samples_.end(), [&](const PendingSample& held) { return held.arrived_ns < time_ns; });
  }

 private:
  std::deque<PendingSample> samples_;
};

}  // namespace cicada::ingest

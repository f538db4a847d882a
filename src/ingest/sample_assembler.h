// SPDX-License-Identifier: Apache-2.0
// Sample records -> samples of the profile, each stored once and never changed.
//
//   record ──────────────────────────────────────▶ pending ──(watermark)──▶ stale frames cut off ──▶ profile
//     │                                              ▲
//     └──▶ unwind request ──▶ DeferredUnwinder ──────┘
//
// A sample waits until every mapping event up to its arrival has been applied: only then is it known whether the code that the walk named
// was still there. It waits for PendingSamples::kMaxWaitNs at most; then its user stack is dropped, because it may name what had gone
// (END_MAPPING_LATE).
// Threads: the drain thread's.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "abi/end_reason.h"
#include "ingest/deferred_unwinder.h"
#include "ingest/mapping_history.h"
#include "ingest/pending_samples.h"
#include "ingest/record_decoder.h"
#include "ingest/stack_table.h"
#include "ingest/thread_table.h"
#include "ingest/sample_labels.h"

namespace cicada::ingest {

// Of one event.
struct AssemblyCounts {
  uint64_t samples = 0;     // records received
  uint64_t lost_stack = 0;  // their stack record never came
  uint64_t lost_value = 0;  // of these, in the event's unit
};

class SampleAssembler {
 public:
  static constexpr size_t kMaxEvents = 256;
  // False: refused, the sample is stored as the kernel left it.
  using Submit = std::function<bool(UnwindJob)>;
  SampleAssembler(profile::Profile& profile, StackTable& stacks, ThreadTable& threads, const MappingHistory& mappings, Submit submit)
      : profile_(profile), stacks_(stacks), threads_(threads), mappings_(mappings), submit_(std::move(submit)) {}

  // `arrived_ns`: after the lifecycle records that came before it were passed on.
  void add(const sample_record& sample, uint64_t arrived_ns);
  // Of the sample of the same thread and time, which came before. False: there is none.
  bool add(const UnwindRequest& request);
  void add(const FinishedWalk& walk);
  void add(const TextRecord& text) { labels_.add_text(*text.head, text.text); }
  // After a look at the ring, begun then, that emptied it: a request that has not come for PendingSamples::kMaxWaitNs was lost.
  void give_up_requests(uint64_t emptied_ns);
  // Stores what need not wait any more.
  void flush_ready(uint64_t now_ns);
  // After the last record: whatever is left.
  void flush();
  // Takes over the ids of a compacted profile.
  void rebase(profile::RowCopier& ids) {
    pending_.rebase(ids);
    labels_.forget();
  }

  const AssemblyCounts& counts(uint8_t event) const { return counts_[event]; }
  uint64_t requests_refused() const { return requests_refused_; }
  uint64_t stale() const { return stale_; }        // stacks that were cut where other code had been mapped meanwhile
  uint64_t late() const { return late_; }          // stored without their user stack, because mappings came too late
  size_t pending() const { return pending_.size(); }
  bool has_from_before(uint64_t time_ns) const { return pending_.has_from_before(time_ns); }

 private:
  struct UserStack {
    std::optional<profile::StackId> id;  // nothing: its record has not come
    uint8_t end_reason;
  };
  void wait(const sample_record& sample, uint64_t arrived_ns, std::optional<profile::StackId> user = {}) {
    pending_.push({sample, threads_.find_or_add(sample), arrived_ns, user});
  }
  // False: what was mapped there is still being opened, and `may_wait`.
  bool store(const PendingSample& pending, bool may_wait, bool is_late);
  void store(const sample_record& sample, profile::ThreadId thread, const UserStack& user);
  // Cuts off what was found by code that had been replaced. False: as above.
  bool cut_stale(const sample_record& sample, UserStack& user, bool may_wait);
  bool is_known(const sample_record& sample) const { return mappings_.watermark_ns() > sample.time_ns; }

  profile::Profile& profile_;
  StackTable& stacks_;
  ThreadTable& threads_;
  const MappingHistory& mappings_;
  Submit submit_;
  BytePool copies_;
  SampleLabels labels_{profile_};
  PendingSamples pending_;
  struct Requesting {
    sample_record sample;
    uint64_t arrived_ns;
  };
  // Samples whose unwind requests are to come. By thread and event: the next one of both came after the request, but one event's interrupts another's,
  // and threads that are preempted in a program (of a uprobe) take turns on a CPU.
  std::map<std::pair<int32_t, uint8_t>, Requesting> requesting_;
  std::array<AssemblyCounts, kMaxEvents> counts_{};
  uint64_t requests_refused_ = 0, stale_ = 0, late_ = 0;
};

}  // namespace cicada::ingest

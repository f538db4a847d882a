// SPDX-License-Identifier: Apache-2.0
// What the kernel's walk sees of address spaces: the one place that writes to the trie of mappings.
//
//   mark_dirty ─▶ take_due ─▶ publish: mappings ─▶ blocks ─▶ difference to what is published ─▶ MappingPublisher
//
// A full trie takes out the least recently sampled space, which comes back when it is sampled again.
// Threads: one at a time, but for the histograms and counts (any).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/latency_histogram.h"
#include "process/tracking/address_space.h"
#include "process/tracking/mapping_publisher.h"

namespace cicada::process {

class TriePublisher {
 public:
  // A space with more mappings is cut again at most every kLargeSpacePauseNs: cutting 60,000 costs up to 7 ms of CPU time (2026-11-21).
  static constexpr size_t kLargeSpace = 4096;
  static constexpr uint64_t kLargeSpacePauseNs = 200'000'000;

  // Borrows `port`.
  TriePublisher(MappingPublisher& port, std::function<uint64_t()> now_ns) : port_(port), now_ns_(std::move(now_ns)) {}

  void mark_dirty(uint32_t address_space) { dirty_.insert(address_space); }
  // Its program began with an exec at this time.
  void note_exec(uint32_t address_space, uint64_t time_ns) { spaces_[address_space].exec_ns = time_ns; }
  // From `since_ns` until publish() the walk does not know what is mapped here: for the histograms. Of a space that is dirty.
  void note_mapping(uint32_t address_space, RuntimeAddr address, uint64_t since_ns, bool of_exec);
  // These are the last to be taken out of a full trie, and come back if they were.
  void note_sampled(std::span<const uint32_t> address_spaces);
  // Never published, and about to be.
  bool is_first_due(uint32_t address_space) const;

  // Dirty ones, to be handed to publish() or to nobody. Left for later: large ones that were just cut, and those whose program began less
  // than `young_ns` before `watermark_ns` and was never published.
  std::vector<uint32_t> take_due(uint64_t watermark_ns, uint64_t young_ns);
  bool waits() const { return !dirty_.empty(); }
  // False: some of it could not be published; said, and tried again when it is dirty again.
  bool publish(uint32_t address_space, const AddressSpace& mappings);
  // Its blocks leave the trie, and it is forgotten. False: not yet.
  bool retire(uint32_t address_space);

  const LatencyHistogram& exec_latency() const { return exec_latency_; }
  const LatencyHistogram& map_latency() const { return map_latency_; }
  uint64_t blocks() const { return blocks_; }
  uint64_t failures() const { return failures_; }
  uint64_t evicted() const { return evicted_; }

 private:
  struct Unseen {
    RuntimeAddr address;
    uint64_t since_ns = 0;
    bool of_exec = false;
  };
  struct Space {
    std::vector<PublishedBlock> published;
    std::vector<Unseen> unseen;
    bool evicted = false;
    uint64_t exec_ns = 0;  // 0: not by an exec that was seen
    uint64_t not_before_ns = 0;
    uint64_t last_sampled = 0;
  };
  bool write(uint32_t address_space, Space& space, const std::vector<PublishedBlock>& want);
  bool evict_one(uint32_t keep);
  void note_seen(Space& space, const AddressSpace& mappings);

  MappingPublisher& port_;
  std::function<uint64_t()> now_ns_;
  std::unordered_map<uint32_t, Space> spaces_;
  std::unordered_set<uint32_t> dirty_;
  LatencyHistogram exec_latency_, map_latency_;
  uint64_t samplings_ = 0;
  std::atomic<uint64_t> blocks_{0}, failures_{0}, evicted_{0};
};

}  // namespace cicada::process

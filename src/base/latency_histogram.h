// SPDX-License-Identifier: Apache-2.0
// How long something took, in buckets an eighth of an octave wide: quantiles to 9 %, the longest exactly. 4 KiB, no allocation.
// Threads: any.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace cicada {

class LatencyHistogram {
 public:
  void add(uint64_t ns) {
    buckets_[bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
    uint64_t longest = longest_ns_.load(std::memory_order_relaxed);
    while (ns > longest && !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
    }
  }
  uint64_t count() const {
    uint64_t sum = 0;
    for (const auto& bucket : buckets_) sum += bucket.load(std::memory_order_relaxed);
    return sum;
  }
  uint64_t longest_ns() const { return longest_ns_.load(std::memory_order_relaxed); }
  // The upper end of the bucket that holds the quantile (0 … 1). 0: nothing was added.
  uint64_t quantile_ns(double quantile) const {
    const uint64_t all = count();
    uint64_t sum = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      sum += buckets_[i].load(std::memory_order_relaxed);
      if (sum > 0 && static_cast<double>(sum) >= quantile * static_cast<double>(all)) return std::min(upper_end(i), longest_ns());
    }
    return 0;
  }

 private:
  static constexpr unsigned kSubBits = 3;
  // Values below 8 have a bucket each; above, the octave and its next three bits.
  static size_t bucket_of(uint64_t ns) {
    if (ns < (1U << kSubBits)) return ns;
    const auto octave = static_cast<unsigned>(std::bit_width(ns)) - 1;
    return ((octave - kSubBits + 1) << kSubBits) + ((ns >> (octave - kSubBits)) & ((1U << kSubBits) - 1));
  }
  static uint64_t upper_end(size_t bucket) {
    if (bucket < (1U << kSubBits)) return bucket;
    const auto octave = static_cast<unsigned>(bucket >> kSubBits) + kSubBits - 1;
    const uint64_t sub = (bucket & ((1U << kSubBits) - 1)) + 1;
    return (uint64_t{1} << octave) + (sub << (octave - kSubBits)) - 1;
  }

  std::array<std::atomic<uint64_t>, (64 - kSubBits + 1) << kSubBits> buckets_{};
  std::atomic<uint64_t> longest_ns_{0};
};

}  // namespace cicada

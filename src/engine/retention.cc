// SPDX-License-Identifier: Apache-2.0
#include "engine/retention.h"

#include <algorithm>

namespace cicada::engine {
namespace {

constexpr size_t kBytesOfSample = 24;

}  // namespace

bool apply_retention(profile::Profile& profile, const Retention& retention, uint64_t now_ns, uint64_t taken) {
  const size_t count = profile.sample_count();
  const uint64_t first = profile.samples().dropped();
  size_t drop = static_cast<size_t>(std::max(taken, first) - first);
  if (retention.keep_samples) drop = count - std::min(count, *retention.keep_samples);
  if (retention.keep_ns) {
    // Samples of different CPUs may be some microseconds out of order: a block more or less.
    const auto& times = profile.samples().time_ns;
    const uint64_t oldest_ns = now_ns - std::min(now_ns, *retention.keep_ns);
    const auto kept = std::partition_point(times.begin(), times.end(), [&](uint64_t time_ns) { return time_ns < oldest_ns; });
    drop = std::max(drop, static_cast<size_t>(kept - times.begin()));
  }
  if (retention.keep_bytes) {
    const size_t bytes = profile.sample_bytes() + profile.table_bytes(), excess = bytes - std::min(bytes, *retention.keep_bytes);
    drop = std::max(drop, std::min(excess / kBytesOfSample, count / 4));
  }
  return profile.drop_samples(drop) != 0;
}

}  // namespace cicada::engine

// SPDX-License-Identifier: Apache-2.0
#include "profile/cpu_time.h"

#include <cmath>

namespace cicada::profile {

double seconds_per_value(const ProfileSnapshot& profile, EventId event) {
  const Event& row = profile.event(event);
  if (row.unit != Unit::kSamples) return 0;
  const uint64_t stored = profile.totals_of(event).value;
  if (profile.header.target_cpu_ns != 0 && stored != 0) return static_cast<double>(profile.header.target_cpu_ns) * 1e-9 / static_cast<double>(stored);
  return static_cast<double>(row.sample_ns) * 1e-9;
}

Unsampled find_unsampled(const ProfileSnapshot& profile, EventId event) {
  const Event& row = profile.event(event);
  if (row.sample_ns == 0 || profile.samples().dropped() != 0) return {};
  const Unsampled found{profile.totals_of(event).value, profile.header.target_cpu_ns / row.sample_ns};
  // As many as a random clock would miss by chance in one of 1,000 recordings.
  const double chance = 3 * std::sqrt(static_cast<double>(found.expected)) + 1;
  return static_cast<double>(found.expected) - static_cast<double>(found.stored) > chance ? found : Unsampled{};
}

}  // namespace cicada::profile

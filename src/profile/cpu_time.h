// SPDX-License-Identifier: Apache-2.0
// CPU time as people count it, in seconds. What the target used is the scheduler's account; samples say how it is divided.
#pragma once
#include "profile/profile.h"

namespace cicada::profile {

// What one unit of the event's values stands for: the target's CPU time divided by what is stored, which makes up for lost samples;
// where that time is unknown, the sampling period. 0: the event does not count CPU time.
double seconds_per_value(const ProfileSnapshot& profile, EventId event);

// The target's CPU time for which there are no samples. Nothing where it is unknown, or where chance explains it.
struct Unsampled {
  uint64_t stored = 0, expected = 0;  // samples
  double share() const { return expected == 0 ? 0 : static_cast<double>(expected - stored) / static_cast<double>(expected); }
};
Unsampled find_unsampled(const ProfileSnapshot& profile, EventId event);

}  // namespace cicada::profile

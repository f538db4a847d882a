// SPDX-License-Identifier: Apache-2.0
// The words around a picture of a profile: what was recorded, how much of it is there, what was lost.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::sink {

struct Caption {
  std::string title;
  std::string subtitle;            // "12,345 samples · 10.0 s · 99 Hz cpu-clock · host", with the sum of values that are no samples
  std::vector<std::string> notes;  // completeness, losses, warnings
  std::string event;               // whose values these are
  std::string unit = "samples";    // or "ns", "bytes", "events": what values count
  double seconds_per_value = 0;    // CPU time; 0: the event does not count it
};

// Of one event: a picture has one unit.
Caption make_caption(const profile::ProfileSnapshot& profile, std::string title, std::optional<profile::EventId> event = {});

}  // namespace cicada::sink

// SPDX-License-Identifier: Apache-2.0
#include "profile/completeness.h"

namespace cicada::profile {

std::array<uint64_t, END_REASON_COUNT> count_end_reasons(const ProfileSnapshot& profile) {
  std::array<uint64_t, END_REASON_COUNT> counts = {};
  for (size_t event = 0; event < profile.header.events.size(); ++event) {
    const EventSums& totals = profile.totals_of({static_cast<uint8_t>(event)});
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += totals.end_reasons[i];
  }
  if (profile.sample_count() != 0) return counts;
  for (const Count& count : profile.header.end_reasons)
    for (size_t i = 0; i < kEndReasons.size(); ++i)
      if (kEndReasons[i].text == count.name) counts[i] += count.value;
  return counts;
}

Completeness completeness(const ProfileSnapshot& profile) {
  Completeness result;
  const auto counts = count_end_reasons(profile);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i == END_NONE || i == END_EXEC) continue;
    result.of += counts[i];
    if (kEndReasons[i].complete) result.complete += counts[i];
  }
  return result;
}

std::string percent_complete(const Completeness& completeness) {
  if (completeness.complete == completeness.of) return "100 %";
  const uint64_t hundredths = completeness.complete * 10000 / completeness.of;
  return fmt::format("{}.{:02} %", hundredths / 100, hundredths % 100);
}

}  // namespace cicada::profile

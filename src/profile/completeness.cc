// SPDX-License-Identifier: Apache-2.0
#include "profile/completeness.h"

namespace cicada::profile {

std::string_view cut_text(uint8_t end_reason) {
  static constexpr std::array<std::string_view, END_REASON_COUNT> kTexts = {{
#define X(name, complete, text) "[incomplete: " text "]",
      CICADA_END_REASONS(X)
#undef X
  }};
  if (end_reason >= END_REASON_COUNT || kEndReasons[end_reason].complete || end_reason == END_NONE || end_reason == END_EXEC) return {};
  return end_reason == END_DEPTH_LIMIT ? "[truncated]" : kTexts[end_reason];
}

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

std::string cut_reasons(const ProfileSnapshot& profile) {
  std::string text;
  const auto counts = count_end_reasons(profile);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0 && !cut_text(static_cast<uint8_t>(i)).empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], kEndReasons[i].text);
  }
  return text;
}

std::string percent_complete(const Completeness& completeness) {
  if (completeness.complete == completeness.of) return "100 %";
  const uint64_t hundredths = completeness.complete * 10000 / completeness.of;
  return fmt::format("{}.{:02} %", hundredths / 100, hundredths % 100);
}

}  // namespace cicada::profile

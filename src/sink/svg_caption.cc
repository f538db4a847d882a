// SPDX-License-Identifier: Apache-2.0
#include "sink/svg_caption.h"

#include <algorithm>
#include <array>

#include "abi/end_reason.h"

namespace cicada::sink {
namespace {

constexpr bool kComplete[] = {
#define X(name, complete, text) complete != 0,
    CICADA_END_REASONS(X)
#undef X
};

// A share that is not whole is never shown as 100 %.
std::string completeness(const profile::Profile& profile) {
  uint64_t complete = 0, all = 0;
  for (const uint8_t flags : profile.samples().flags) {
    const size_t reason = flags >> 4;
    if (reason == END_NONE || reason == END_EXEC || reason >= END_REASON_COUNT) continue;
    ++all;
    complete += kComplete[reason];
  }
  if (all == 0) return {};
  const uint64_t hundredths = complete * 10000 / all;
  return hundredths == 10000 ? "all user stacks complete"
                             : fmt::format("{}.{:02} % of user stacks complete", hundredths / 100, hundredths % 100);
}

}  // namespace

std::string grouped_digits(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; digits.insert(at, ",")) at -= 3;
  return digits;
}

Caption make_caption(const profile::Profile& profile, std::string title) {
  const profile::Header& header = profile.header;
  Caption caption;
  caption.title = std::move(title);
  const auto& kinds = profile.samples().kind;
  if (!kinds.empty() && std::ranges::all_of(kinds, [](auto kind) { return kind == profile::SampleKind::kOffCpu; }))
    caption.unit = "µs";
  const auto add = [&](const std::string& part) {
    if (!part.empty()) caption.subtitle += (caption.subtitle.empty() ? "" : " · ") + part;
  };
  add(grouped_digits(profile.sample_count()) + (profile.sample_count() == 1 ? " sample" : " samples"));
  if (header.duration_ns != 0) add(fmt::format("{:.1f} s", static_cast<double>(header.duration_ns) / 1e9));
  if (header.frequency_hz != 0) add(fmt::format("{} Hz {}", header.frequency_hz, header.event));
  add(header.host);
  if (const std::string complete = completeness(profile); !complete.empty()) caption.notes.push_back(complete);
  std::string lost;
  for (const profile::Count& count : header.counts)
    if (count.outcome && count.value != 0 && !count.name.starts_with("stored"))
      lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", grouped_digits(count.value), count.name);
  if (!lost.empty()) caption.notes.push_back(lost);
  else if (header.fired != 0) caption.notes.push_back("none lost");
  if (header.warnings.size() == 1) caption.notes.push_back(header.warnings.front());
  if (header.warnings.size() > 1) caption.notes.push_back(fmt::format("{} warnings", header.warnings.size()));
  return caption;
}

}  // namespace cicada::sink

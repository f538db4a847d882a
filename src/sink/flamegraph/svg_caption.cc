// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/svg_caption.h"

#include "base/number_text.h"
#include "profile/completeness.h"
#include "profile/cpu_time.h"
#include "profile/stack_totals.h"

namespace cicada::sink {
Caption make_caption(const profile::ProfileSnapshot& profile, std::string title, std::optional<profile::EventId> event) {
  const profile::Header& header = profile.header;
  Caption caption;
  caption.title = std::move(title);
  const profile::EventId id = event.value_or(profile::main_event(profile));
  const profile::Event& shown = profile.event(id);
  caption.unit = profile::unit_text(shown.unit);
  caption.event = shown.name;
  caption.seconds_per_value = profile::seconds_per_value(profile, id);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) caption.subtitle += (caption.subtitle.empty() ? "" : " · ") + part;
  };
  const uint64_t samples = count_samples(profile, id);
  add(grouped_digits(samples) + (samples == 1 ? " sample" : " samples"));
  const uint64_t value = profile.totals_of(id).value;
  if (shown.unit != profile::Unit::kSamples && value != samples) add(shown.unit == profile::Unit::kNanoseconds ? seconds_text(static_cast<double>(value) * 1e-9, 4) : fmt::format("{} {}", grouped_digits(value), caption.unit));
  if (header.duration_ns != 0) add(seconds_text(static_cast<double>(header.duration_ns) * 1e-9));
  const std::string rate = profile::rate_text(shown);
  add(rate.empty() && header.events.size() > 1 ? shown.name : rate);
  add(header.host);
  if (const auto whole = profile::completeness(profile); whole.of != 0)
    caption.notes.push_back(whole.complete == whole.of ? "all user stacks complete" : fmt::format("{} of user stacks complete ({})", profile::percent_complete(whole), profile::cut_reasons(profile)));
  std::string lost;
  for (const profile::Count& count : shown.counts)
    if (count.outcome && count.value != 0 && !count.name.starts_with("stored"))
      lost += fmt::format("{}{} {}", lost.empty() ? "" : ", ", grouped_digits(count.value), count.name);
  if (!lost.empty()) caption.notes.push_back(lost);
  else if (shown.fired != 0) caption.notes.push_back("none lost");
  if (header.warnings.size() == 1) caption.notes.push_back(header.warnings.front());
  if (header.warnings.size() > 1) caption.notes.push_back(fmt::format("{} warnings", header.warnings.size()));
  return caption;
}

}  // namespace cicada::sink

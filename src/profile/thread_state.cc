// SPDX-License-Identifier: Apache-2.0
#include "profile/thread_state.h"

#include <algorithm>

namespace cicada::profile {

namespace {

std::string_view find_label(const ProfileSnapshot& profile, LabelSetId labels, std::string_view key) {
  for (const Label& label : profile.labels(labels))
    if (profile.text(label.key) == key) return profile.text(label.value);
  return {};
}

}  // namespace

std::string_view waited_for(const ProfileSnapshot& profile, LabelSetId labels) { return find_label(profile, labels, kStateLabel); }

bool is_wait_for_cpu(const ProfileSnapshot& profile, LabelSetId labels) {
  const std::string_view state = waited_for(profile, labels);
  return state == kPreemptedState || state == kRunnableState;
}

bool has_not_ended(const ProfileSnapshot& profile, size_t row) {
  const Samples& samples = profile.samples();
  if (profile.event(samples.event[row]).spent != Spent::kWaiting) return false;
  const Header& header = profile.header;
  const bool lasts = header.duration_ns != 0 && samples.time_ns[row] >= header.start_monotonic_ns + header.duration_ns;
  return lasts || find_label(profile, samples.labels[row], kEndLabel) == kNotEnded;
}

std::string_view state_text(const ProfileSnapshot& profile, EventId event, LabelSetId labels) {
  const std::string_view state = waited_for(profile, labels);
  return !state.empty() ? state : profile.event(event).spent == Spent::kRunning ? kRunningState : "waiting";
}

uint8_t ThreadStates::of(const ProfileSnapshot& profile, LabelSetId labels) {
  if (!labels.valid()) return 0;
  if (known_.size() <= labels.value) known_.resize(labels.value + 1, kUnknown);
  uint8_t& state = known_[labels.value];
  if (state != kUnknown) return state;
  const std::string_view text = waited_for(profile, labels);
  const auto found = std::ranges::find(names_, text);
  state = static_cast<uint8_t>(text.empty() || (found == names_.end() && names_.size() == kMost) ? 0 : found - names_.begin() + 1);
  if (state > names_.size()) names_.emplace_back(text);
  return state;
}

}  // namespace cicada::profile

// SPDX-License-Identifier: Apache-2.0
#include "profile/thread_state.h"

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

}  // namespace cicada::profile

// SPDX-License-Identifier: Apache-2.0
#include "profile/thread_state.h"

namespace cicada::profile {

std::string_view waited_for(const ProfileSnapshot& profile, LabelSetId labels) {
  for (const Label& label : profile.labels(labels))
    if (profile.text(label.key) == kStateLabel) return profile.text(label.value);
  return {};
}

bool is_wait_for_cpu(const ProfileSnapshot& profile, LabelSetId labels) {
  const std::string_view state = waited_for(profile, labels);
  return state == kPreemptedState || state == kRunnableState;
}

std::string_view state_text(const ProfileSnapshot& profile, EventId event, LabelSetId labels) {
  const std::string_view state = waited_for(profile, labels);
  return !state.empty() ? state : profile.event(event).spent == Spent::kWaiting ? "waiting" : kRunningState;
}

}  // namespace cicada::profile

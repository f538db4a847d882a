// SPDX-License-Identifier: Apache-2.0
#include "profile/snapshot.h"

namespace cicada::profile {

Sample ProfileSnapshot::sample(size_t index) const {
  const uint8_t state = samples_.state[index];
  return {.time_ns = samples_.time_ns[index],
          .thread = samples_.thread[index],
          .stack = samples_.stack[index],
          .value = value(index),
          .lasted_ns = samples_.lasted_ns(index),
          .labels = samples_.labels[index],
          .cpu = samples_.cpu[index],
          .event = samples_.event[index],
          .end_reason = end_reason_of(state),
          .in_kernel = is_in_kernel(state),
          .idle = is_idle(state)};
}

std::span<const Label> ProfileSnapshot::labels(LabelSetId set) const {
  if (!set.valid()) return {};
  const LabelSpan& span = label_sets_[set.value];
  return labels_.together(span.begin, span.count);
}

const StackSums& ProfileSnapshot::sums_of(EventId event) const {
  static const StackSums none;
  return event.value < sums_.size() ? sums_[event.value] : none;
}

const EventSums& ProfileSnapshot::totals_of(EventId event) const {
  static const EventSums none;
  return event.value < totals_.size() ? totals_[event.value] : none;
}

SnapshotSizes ProfileSnapshot::sizes() const {
  return {.lineage = lineage_,
          .strings = strings_.size(),
          .images = images_.size(),
          .functions = functions_.size(),
          .frames = frames_.size(),
          .stacks = stacks_.size(),
          .processes = processes_.size(),
          .threads = threads_.size(),
          .label_sets = label_sets_.size(),
          .renamed_frames = renamed_frames_.size(),
          .described_processes = described_processes_.size(),
          .described_threads = described_threads_.size(),
          .samples = samples_.dropped() + samples_.size()};
}

EventId main_event(const ProfileSnapshot& profile) {
  for (size_t i = 0; i < profile.header.events.size(); ++i) {
    const EventId id{static_cast<uint8_t>(i)};
    if (profile.totals_of(id).samples != 0) return id;
  }
  return {};
}

std::vector<EventId> sampled_events(const ProfileSnapshot& profile) {
  std::vector<EventId> events;
  for (size_t i = 0; i < profile.header.events.size(); ++i) {
    const EventId id{static_cast<uint8_t>(i)};
    if (profile.totals_of(id).samples != 0) events.push_back(id);
  }
  if (events.empty()) events.push_back({});
  return events;
}

}  // namespace cicada::profile

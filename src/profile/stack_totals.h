// SPDX-License-Identifier: Apache-2.0
// Samples added up by thread and stack: what remains of a recording when time is not of interest.
#pragma once
#include <vector>

#include "profile/call_tree.h"

namespace cicada::profile {

struct StackTotal {
  ThreadId thread;
  StackId stack;
  LabelSetId labels;
  uint16_t cpu = 0;      // 0 unless asked for
  uint8_t end_reason = END_NONE;  // of stacks that are not whole (cut_text); else END_NONE
  uint64_t samples = 0;
  uint64_t value = 0;
};

// Whether the sample is part of what `options` asks for: idle, event, filter.
bool is_wanted(const ProfileSnapshot& profile, const CallTreeOptions& options, EventId event, size_t sample_index);

// By thread, within it in the order of first appearance; each set of labels by itself. Per cpu if options group by it, per reason where stacks are not whole.
std::vector<StackTotal> add_up_stacks(const ProfileSnapshot& profile, const CallTreeOptions& options);

// The event whose values `options` asks for. All others are left out: values of two events cannot be added up.
EventId shown_event(const ProfileSnapshot& profile, const CallTreeOptions& options);

// How often was sampled. A row of the profile stands for several samples where the format it came from adds up equal ones.
uint64_t count_samples(const ProfileSnapshot& profile, EventId event);
uint64_t count_samples(const ProfileSnapshot& profile);  // of all events

// False for what came from a format without times, whose samples are only numbered.
bool has_times(const ProfileSnapshot& profile);

}  // namespace cicada::profile

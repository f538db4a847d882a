// SPDX-License-Identifier: Apache-2.0
// Samples added up by thread and stack: what remains of a recording when time is not of interest.
#pragma once
#include <vector>

#include "profile/call_tree.h"

namespace cicada::profile {

struct StackTotal {
  ThreadId thread;
  StackId stack;
  uint16_t cpu = 0;      // 0 unless asked for
  SampleKind kind = SampleKind::kCpu;
  uint64_t samples = 0;
  uint64_t value = 0;
};

// Whether the sample is part of what `options` asks for: idle, kind, filter.
bool is_wanted(const Profile& profile, const CallTreeOptions& options, size_t sample_index);

// By thread, within it in the order of first appearance. Per cpu if options group by it.
std::vector<StackTotal> add_up_stacks(const Profile& profile, const CallTreeOptions& options);

// What one unit of a sample's value is. CPU samples of a clock event are time; of other events, samples.
struct ValueUnit {
  std::string_view type;  // "cpu", "offcpu", or the event's name
  std::string_view unit;  // "nanoseconds", "count"
  uint64_t factor = 1;    // of a value, to `unit`
};
ValueUnit value_unit(const Header& header, SampleKind kind);

// The kind that most samples have; what formats with one unit show.
SampleKind main_kind(const Profile& profile);

// How often was sampled. A row of the profile stands for several samples where the format it came from adds up equal ones; a
// blocked time is one, however long.
uint64_t count_samples(const Profile& profile);

// False for what came from a format without times, whose samples are only numbered.
bool has_times(const Profile& profile);

}  // namespace cicada::profile

// SPDX-License-Identifier: Apache-2.0
// What a thread did when a sample was taken, by its kStateLabel. Threads: any.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "profile/snapshot.h"

namespace cicada::profile {

inline constexpr std::string_view kRunningState = "on CPU";
// A label of waits in merged recordings: it went on when its own recording ended.
inline constexpr std::string_view kEndLabel = "end", kNotEnded = "later";

// What it waited for ("lock", "disk", …). Empty: no label says.
std::string_view waited_for(const ProfileSnapshot& profile, LabelSetId labels);
// It was ready to run.
bool is_wait_for_cpu(const ProfileSnapshot& profile, LabelSetId labels);
// A wait that went on when its recording ended.
bool has_not_ended(const ProfileSnapshot& profile, size_t row);
// For people: what it waited for; "waiting", if that is not known; "on CPU".
std::string_view state_text(const ProfileSnapshot& profile, EventId event, LabelSetId labels);

// What threads waited for as small numbers, in the order in which it is met. Of one profile. Threads: one.
class ThreadStates {
 public:
  static constexpr size_t kMost = 15;  // there are nine; a foreign file may have any number

  // 1 + index into names(); 0: no label says.
  uint8_t of(const ProfileSnapshot& profile, LabelSetId labels);
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr uint8_t kUnknown = 0xff;
  std::vector<std::string> names_;
  std::vector<uint8_t> known_;  // by set of labels
};

}  // namespace cicada::profile

// SPDX-License-Identifier: Apache-2.0
// How many files this process may have open. What others do decides how many it would like (an image for each file that they map), so
// some are put aside for what must not fail.
#pragma once
#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace cicada {

inline constexpr size_t kWantedDescriptors = 8192;
inline constexpr size_t kDescriptorsForTheEnd = 32;  // the last names and the outputs of a recording

// Raises the soft limit to kWantedDescriptors, or as far as the hard limit allows. Threads: one, before others are started.
void raise_descriptor_limit();
// Puts back what raise_descriptor_limit() found, for a program that is about to be run. Async-signal-safe.
void restore_descriptor_limit();

class ReservedDescriptors {
 public:
  explicit ReservedDescriptors(size_t count);
  // From here on they are there for everybody.
  void release() { held_.clear(); }
  size_t size() const { return held_.size(); }

 private:
  std::vector<UniqueFd> held_;
};

}  // namespace cicada

// SPDX-License-Identifier: Apache-2.0
// Profiles made up for tests and benchmarks: the same numbers from the same seed, with the shape of a real recording (few
// stacks are hot, most are rare; timers tick per CPU with jitter; frames are shared by many stacks).
#pragma once
#include "profile/profile.h"

namespace cicada::profile {

struct SyntheticOptions {
  size_t samples = 1000;
  size_t stacks = 200;      // distinct leaves, about
  size_t functions = 300;
  size_t depth = 30;        // at most
  unsigned processes = 4;
  unsigned threads = 3;     // of each process
  unsigned cpus = 2;
  bool hostile_names = false;  // separators, quotes, markup, invalid UTF-8, 100 kB
  uint32_t seed = 1;
};

Profile make_synthetic_profile(const SyntheticOptions& options = {});

// The names that break formats. Used as function, thread and process names.
std::span<const std::string> hostile_names();

}  // namespace cicada::profile

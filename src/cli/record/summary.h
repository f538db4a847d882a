// SPDX-License-Identifier: Apache-2.0
// What `record` says when it is done: how many samples, what happened to each, how complete the stacks are, where the
// time went.
#pragma once
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::cli {

struct SummaryOptions {
  bool include_idle = false;  // idle samples take part in the hottest functions
  bool stacks = true;         // false: none were asked for
  bool stats = false;         // every counter and every end reason, zeros too
  size_t rows = 10;       // of the table of functions
  size_t columns = 100;  // of the terminal
};

// `outputs`: Sink::description() of each, already written. Pure: the same profile gives the same text.
std::string format_summary(const profile::ProfileSnapshot& profile, const std::vector<std::string>& outputs,
                           const SummaryOptions& options);

}  // namespace cicada::cli

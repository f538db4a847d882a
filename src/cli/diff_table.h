// SPDX-License-Identifier: Apache-2.0
// What grew and what shrank, as text.
#pragma once
#include <string>

#include "profile/profile_diff.h"

namespace cicada::cli {

struct DiffTableOptions {
  size_t rows = 20;
  size_t columns = 100;
  bool all = false;  // changes that chance explains, too
};

// What 100 % is: everything (normalised), or A's values per second.
double whole_of(const profile::ProfileDiff& diff);

// In percent of whole_of(); the largest change (self or total) first. A mark stands beside what is significant.
std::string format_diff(const profile::ProfileDiff& diff, const DiffTableOptions& options);

}  // namespace cicada::cli

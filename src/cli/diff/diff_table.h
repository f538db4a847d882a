// SPDX-License-Identifier: Apache-2.0
// What grew and what shrank, as text.
#pragma once
#include <string>

#include "cli/table_names.h"
#include "profile/profile_diff.h"

namespace cicada::cli {

struct DiffTableOptions {
  size_t rows = 20;
  size_t columns = 100;
  TableNames names = {};
  bool all = false;  // changes that chance explains, too
};

// What 100 % is: all that A cost, scaled.
double whole_of(const profile::ProfileDiff& diff);

struct DiffSide {
  std::string_view file;
  const profile::ProfileSnapshot& profile;
};
// One line: what is compared, and by how much the whole changed.
std::string format_whole(const DiffSide& a, const DiffSide& b, const profile::ProfileDiff& diff, profile::Per per);

// In percent of whole_of(); the largest change (self or total) first. A mark stands beside what is significant.
std::string format_diff(const profile::ProfileDiff& diff, const DiffTableOptions& options);

}  // namespace cicada::cli

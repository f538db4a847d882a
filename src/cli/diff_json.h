// SPDX-License-Identifier: Apache-2.0
// A comparison for machines: every function, whatever its size, with both sides' values, changes and probabilities.
#pragma once
#include <functional>
#include <string_view>

#include "profile/profile_diff.h"

namespace cicada::cli {

struct DiffSide {
  std::string_view file;
  const profile::ProfileSnapshot& profile;
};
// `violations`: texts of the --fail-if conditions that do not hold.
void write_diff_json(const DiffSide& a, const DiffSide& b, const profile::ProfileDiff& diff, bool normalised,
                     const std::vector<std::string>& violations, const std::function<void(std::string_view)>& write);

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
// A comparison for machines: every function, whatever its size, with both sides' values, changes and probabilities.
#pragma once
#include <functional>
#include <string_view>

#include "cli/diff/diff_table.h"

namespace cicada::cli {

// `violations`: texts of the --fail-if conditions that do not hold.
void write_diff_json(const DiffSide& a, const DiffSide& b, const profile::ProfileDiff& diff, profile::Per per,
                     const std::vector<std::string>& violations, const std::function<void(std::string_view)>& write);

}  // namespace cicada::cli

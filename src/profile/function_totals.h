// SPDX-License-Identifier: Apache-2.0
// What each function of a profile costs, added up from its stacks. The same numbers as those of a call tree, which takes a node for each function of
// each stack: a million of hostile ones.
#pragma once
#include <vector>

#include "profile/function_table.h"

namespace cicada::profile {

struct FunctionTotals {
  StringTable strings;             // of the rows
  std::vector<FunctionCost> rows;  // as largest_functions() orders them
  uint64_t total = 0;              // of all samples
};

// `options` as build_call_tree() takes them, without groups.
FunctionTotals total_functions(const ProfileSnapshot& profile, const CallTreeOptions& options);

}  // namespace cicada::profile

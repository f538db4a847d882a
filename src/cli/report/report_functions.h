// SPDX-License-Identifier: Apache-2.0
// The trees above and below one function of a call tree; `names` say which one is meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/table_names.h"
#include "profile/function_table.h"

namespace cicada::cli {

using profile::FunctionCost;
using profile::add_up_functions;

// What the function calls: its stacks, cut above its outermost call and laid over each other. The root's child is the function.
// Fails (kNotFound) with names that come close.
Result<profile::CallTree> callees_of(const profile::CallTree& tree, std::string_view function, const TableNames& names = {});
// Who calls it: from the function (below the root) outwards. Each stack counts once, at its outermost call.
Result<profile::CallTree> callers_of(const profile::CallTree& tree, std::string_view function, const TableNames& names = {});

}  // namespace cicada::cli

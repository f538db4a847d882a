// SPDX-License-Identifier: Apache-2.0
// The functions of a call tree: what each costs itself and with everything it calls, and the trees above and below one.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "profile/call_tree.h"

namespace cicada::cli {

struct FunctionCost {
  profile::StringId name, image;  // in CallTree::strings
  uint64_t self = 0;
  uint64_t total = 0;  // stacks that contain the function, once each, however often it recurses
};

// The largest self first, then the largest total.
std::vector<FunctionCost> add_up_functions(const profile::CallTree& tree);

// Whether `name` is meant by what a person typed: the whole name, or all before its parameters ("f" means "f(int)").
bool is_meant(std::string_view name, std::string_view typed);

// What the function calls: its stacks, cut above its outermost call and laid over each other. The root's child is the function.
// Fails (kNotFound) with names that come close.
Result<profile::CallTree> callees_of(const profile::CallTree& tree, std::string_view function);
// Who calls it: from the function (below the root) outwards. Each stack counts once, at its outermost call.
Result<profile::CallTree> callers_of(const profile::CallTree& tree, std::string_view function);

}  // namespace cicada::cli

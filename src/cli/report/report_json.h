// SPDX-License-Identifier: Apache-2.0
// The report for machines. The tree is a flat array whose nodes name their parent's index (a parent stands before its
// children; the first is the root, without a parent): stacks of 1,000 frames would be nested too deep for most JSON readers.
// Described in docs/commands.md.
#pragma once
#include <functional>
#include <string_view>

#include "profile/call_tree.h"

namespace cicada::cli {

void write_report_json(const profile::ProfileSnapshot& profile, const profile::CallTree& tree, const std::function<void(std::string_view)>& write);

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
// Rows of Go code from its table of functions (elf/go_functions.h). Frame pointers alone leave out the caller of a function that has no frame: 100 % of the
// stacks of tests/workloads' Go program, whose leaf is such a function.
//
// Older tables are left to frame pointers, and so are functions that write the stack pointer themselves (runtime.systemstack and the like, which change stacks).
#pragma once
#include <vector>

#include "base/address.h"
#include "elf/go_functions.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// Ascending, disjoint, offsets from `base`. Bounded by 2 Mi entries and one for each function, whatever the bytes say.
std::vector<CodeRule> find_go_rules(const elf::GoFunctions& functions, LinkAddr base);

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// Rows of Go code from its table of functions (elf/go_functions.h). Frame pointers alone leave out the caller of a function that has no frame: 100 % of the
// stacks of tests/workloads' Go program, whose leaf is such a function.
//
// Older tables are left to frame pointers. Of functions that write the stack pointer themselves the table says nothing: their instructions tell, until nothing leads
// to the stack that they have left (runtime.systemstack). What is behind that is left to frame pointers, which leave out two callers of runtime.morestack before it.
#pragma once
#include <functional>
#include <vector>

#include "base/address.h"
#include "base/byte_cursor.h"
#include "elf/go_functions.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// Ascending, disjoint, offsets from `base`. Bounded by 2 Mi entries, 64 Ki of what is followed and two for each function, whatever the bytes say. `code_at`: the image's bytes from there on.
std::vector<CodeRule> find_go_rules(const elf::GoFunctions& functions, LinkAddr base, const std::function<Bytes(LinkAddr)>& code_at);

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// What a reader should know about functions of interpreters and JIT compilers that have no names: of which program, and what to do.
#pragma once
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::symbolize {

// For each language one line, of the first process that spent 5 % of its samples or more in functions of it that are not shown, and no sample in one
// that is: "python3 (process 77): Python functions are not shown; restart it as `python3 -X perf` (3.12 or newer)". Call after symbolize().
std::vector<std::string> jit_advice(const profile::ProfileSnapshot& profile);

}  // namespace cicada::symbolize

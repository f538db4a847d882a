// SPDX-License-Identifier: Apache-2.0
// What a reader should know about JIT code that stayed without names: which program to restart, and how.
#pragma once
#include <string>
#include <vector>

#include "profile/profile.h"

namespace cicada::symbolize {

// For each program that has a way to write a perf map and spent 5 % of its samples or more in JIT code without
// names: one line, "node (process 77): JIT code has no names; restart it as `node --perf-basic-prof …`". Call after symbolize().
std::vector<std::string> jit_advice(const profile::ProfileSnapshot& profile);

}  // namespace cicada::symbolize

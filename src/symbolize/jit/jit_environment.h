// SPDX-License-Identifier: Apache-2.0
// What a run time needs to be told before it starts, so that its JIT-compiled code has names. Only for `record -- CMD`, only
// where it changes nothing the program prints, and never over a variable that the user has set.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cicada::symbolize {

// "NAME=value" to add to the environment of `argv` (a command and its arguments). Node.js gets NODE_OPTIONS, CPython gets
// PYTHONPERFSUPPORT (which versions below 3.12 ignore), shells, make and the like get both for what they start. Scripts are known by their
// first line; `env`, `nice` and the like are looked through. `path`: the command search path, to find scripts.
std::vector<std::string> jit_environment(std::span<const std::string> argv, std::span<const std::string> environment, std::string_view path);

}  // namespace cicada::symbolize

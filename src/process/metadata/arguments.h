// SPDX-License-Identifier: Apache-2.0
// How a recording keeps the arguments of a command. They hold passwords, and a recording is read by others than who recorded: without being
// asked for, none but the program. When they are asked for, values that look like secrets are masked; that knows common spellings only:
//
//   --password=x  --db-password x  API_KEY=x  --token x  -H 'Authorization: Bearer x'  https://user:x@host
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cicada::process {

enum class Arguments : uint8_t { kProgram, kAll };

// A program that wrote a text of its own over its arguments (setproctitle) keeps its first word.
std::vector<std::string> kept_arguments(std::span<const std::string> argv, Arguments which);
// The same joined by spaces, at most 512 bytes and "…".
std::string shown_arguments(std::span<const std::string> argv, Arguments which);

}  // namespace cicada::process

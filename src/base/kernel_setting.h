// SPDX-License-Identifier: Apache-2.0
// What the kernel says in one line: files below /proc/sys and /sys.
// Threads: any.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace cicada {

// Empty: no such file, or nothing in it.
std::string first_line_of(const std::string& path);
// The number that the first line begins with, after blanks.
std::optional<int64_t> find_number_in(const std::string& path);

}  // namespace cicada

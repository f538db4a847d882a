// SPDX-License-Identifier: Apache-2.0
// Numbers with units, as people type them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cicada::cli {

// Whole, decimal, nothing before or after. `what` is what errors call it: "-c".
Result<uint64_t> parse_number(std::string_view text, std::string_view what);
// -F: samples a second, more than none.
Result<uint64_t> parse_frequency_hz(std::string_view text);
// "10", "0.5", "500ms", "10s", "2m", "1h": nanoseconds, more than none.
Result<uint64_t> parse_duration_ns(std::string_view text, std::string_view what);
// "64M", "1G", "512k", "4096": bytes, powers of 1,024.
Result<uint64_t> parse_bytes(std::string_view text, std::string_view what);
// At the commas; empty parts are dropped.
std::vector<std::string> split_list(std::string_view text);

}  // namespace cicada::cli

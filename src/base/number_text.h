// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: one place, so that every output says the same.
#pragma once
#include <cstdint>
#include <string>

namespace cicada {

std::string grouped_digits(uint64_t value);  // "1,234,567"
// "2.08 s", "310 ms", "12.1 µs", "5.00 ns"; `digits`: significant ones, where the unit has not more.
std::string seconds_text(double seconds, int digits = 3);
std::string bytes_text(double bytes);  // "512 B", "1.7 MiB"
double percent(uint64_t part, uint64_t all);  // 0 of nothing

}  // namespace cicada

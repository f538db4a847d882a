// SPDX-License-Identifier: Apache-2.0
#include "base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cicada {

std::string grouped_digits(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string seconds_text(double seconds, int digits) {
  struct Unit {
    const char* name;
    double seconds;
  };
  for (const Unit unit : {Unit{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}) {
    const double value = seconds / unit.seconds;
    // What is rounded up to the next power of ten has a digit more, or another unit.
    const int whole = value > 0 ? static_cast<int>(std::floor(std::log10(value * (1 + 0.5 * std::pow(10, -digits))))) + 1 : 0;
    if (whole > 0 || unit.seconds == 1e-9) return fmt::format("{:.{}f} {}", value, std::clamp(digits - std::max(whole, 1), 0, digits), unit.name);
  }
  return {};
}

std::string bytes_text(double bytes) {
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1023.95) break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{:.{}f} {}", bytes, *unit == 'B' ? 0 : 1, unit);
}

double percent(uint64_t part, uint64_t all) { return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all); }

}  // namespace cicada

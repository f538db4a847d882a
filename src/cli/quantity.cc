// SPDX-License-Identifier: Apache-2.0
#include "cli/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cicada::cli {
namespace {

Result<double> parse_decimal(std::string_view digits, std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return make_error(ErrorKind::kInvalid, "{} {}: not a number", what, text);
  }
  return value;
}

// Splits "500ms" into "500" and "ms".
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789.-"), text.size());
  return {text.substr(0, digits), text.substr(digits)};
}

}  // namespace

Result<uint64_t> parse_number(std::string_view text, std::string_view what) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return make_error(ErrorKind::kInvalid, "{} {}: too large", what, text);
  if (error != std::errc() || end != text.data() + text.size()) {
    return make_error(ErrorKind::kInvalid, "{} {}: not a whole number", what, text);
  }
  return value;
}

Result<uint64_t> parse_frequency_hz(std::string_view text) {
  const uint64_t hz = TRY(parse_number(text, "-F"));
  if (hz == 0) return make_error(ErrorKind::kInvalid, "-F {}: nothing would be sampled", text);
  return hz;
}

Result<uint64_t> parse_duration_ns(std::string_view text, std::string_view what) {
  const auto [digits, unit] = split_unit(text);
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1e9;
  if (unit == "us" || unit == "µs") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  if (unit == "m" || unit == "min") scale = 60e9;
  if (unit == "h") scale = 3600e9;
  if (scale == 0)
    return make_error(ErrorKind::kInvalid, "{} {}: unknown unit '{}'; use us, ms, s, m or h", what, text, unit);
  const double ns = TRY(parse_decimal(digits, text, what)) * scale;
  if (ns < 1) return make_error(ErrorKind::kInvalid, "{} {}: must be more than zero", what, text);
  if (ns > 9e18) return make_error(ErrorKind::kInvalid, "{} {}: too long", what, text);
  return static_cast<uint64_t>(ns);
}

Result<uint64_t> parse_bytes(std::string_view text, std::string_view what) {
  const auto [digits, unit] = split_unit(text);
  double scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "k" || unit == "K" || unit == "KiB") scale = 1 << 10;
  if (unit == "M" || unit == "MiB") scale = 1 << 20;
  if (unit == "G" || unit == "GiB") scale = 1 << 30;
  if (scale == 0) return make_error(ErrorKind::kInvalid, "{} {}: unknown unit '{}'; use k, M or G", what, text, unit);
  const double bytes = TRY(parse_decimal(digits, text, what)) * scale;
  if (bytes < 1) return make_error(ErrorKind::kInvalid, "{} {}: must be more than zero", what, text);
  if (bytes > 9e18) return make_error(ErrorKind::kInvalid, "{} {}: too large", what, text);
  return static_cast<uint64_t>(bytes);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace cicada::cli

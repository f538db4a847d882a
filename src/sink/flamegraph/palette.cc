// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/palette.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cicada::sink {

uint32_t style_of(const profile::CallTree& tree, const profile::CallNode& node) {
  uint32_t hash = 2166136261U;
  for (const char c : tree.text(node.name)) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U;
  return static_cast<uint32_t>(node.kind) << 2 | ((hash >> 13) & 3);
}

uint32_t heat_step(double after, double before, double all_after, double all_before) {
  const double a = after / all_after, b = before / all_before;
  const double most = std::max(a, b), error = std::sqrt(a / all_after + b / all_before);
  const double d = most == 0 ? 0 : (a - b) / most * std::min(1.0, std::abs(a - b) / (error == 0 ? 1 : error) / 3);
  return static_cast<uint32_t>(std::lround((d + 1) * (kHeatSteps / 2)));
}

std::string heat_colour(uint32_t step) {
  const double d = static_cast<double>(step) / (kHeatSteps / 2) - 1;
  const auto mix = [&](double from, double to) { return std::lround(from + (to - from) * std::sqrt(std::abs(d))); };
  return d >= 0 ? fmt::format("rgb({},{},{})", mix(236, 240), mix(232, 84), mix(228, 70))
                : fmt::format("rgb({},{},{})", mix(236, 84), mix(232, 132), mix(228, 240));
}

}  // namespace cicada::sink

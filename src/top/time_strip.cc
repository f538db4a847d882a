// SPDX-License-Identifier: Apache-2.0
#include "top/time_strip.h"

#include <algorithm>
#include <cmath>

#include "top/look.h"

namespace cicada::top {

void TimeStrip::draw(Grid& grid, int y, const Model& model) {
  y_ = y;
  const auto columns = static_cast<size_t>(std::max(0, grid.width() - 2));
  if (of_ != model.shared_profile() || values_.size() != columns) values_ = model.time_line(columns);
  of_ = model.shared_profile();
  const double most = values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end());
  grid.put(1, y, sparkline(values_, most), {.ink = 0x87afd7});
  const uint64_t first = model.begin_ns(), all = model.end_ns() - first;
  if (all == 0) return;
  const auto mark = [&](uint64_t from, uint64_t to, const Style& style) {
    const double scale = static_cast<double>(columns) / static_cast<double>(all);
    const int x = static_cast<int>(static_cast<double>(from - std::min(from, first)) * scale), end = static_cast<int>(std::ceil(static_cast<double>(to - std::min(to, first)) * scale));
    grid.restyle({1 + x, y, std::clamp(end - x, 1, static_cast<int>(columns) - std::min(x, static_cast<int>(columns) - 1)), 1}, style);
  };
  const Choice& choice = model.choice();
  if (choice.span_ns) mark(choice.span_ns->first, choice.span_ns->second, {.ink = 0xffaf00, .reverse = true});
  if (choice.mark_ns) mark(*choice.mark_ns, model.end_ns(), {.ink = 0xff5f5f});
}

TimeStrip::Span TimeStrip::span_of(int x, const Model& model) const {
  const auto columns = std::max<uint64_t>(1, values_.size()), column = std::min<uint64_t>(static_cast<uint64_t>(std::max(0, x - 1)), columns - 1);
  const uint64_t first = model.begin_ns();
  const double each = static_cast<double>(model.end_ns() - first) / static_cast<double>(columns);
  const auto from = first + static_cast<uint64_t>(each * static_cast<double>(column)), to = first + static_cast<uint64_t>(std::ceil(each * static_cast<double>(column + 1)));
  return {from, std::max(to, from + 1)};
}

TimeStrip::Span TimeStrip::click(int x, const Model& model) {
  clicked_ = span_of(x, model);
  return *clicked_;
}

std::optional<TimeStrip::Span> TimeStrip::drag(int x, const Model& model) const {
  if (!clicked_) return std::nullopt;
  const Span here = span_of(x, model);
  return Span(std::min(clicked_->first, here.first), std::max(clicked_->second, here.second));
}

}  // namespace cicada::top

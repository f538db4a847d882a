// SPDX-License-Identifier: Apache-2.0
#include "top/source_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cicada::top {

void SourceTable::ask(const std::string& function, bool instructions) {
  again_ = !lines_.empty() && function == function_ && instructions == instructions_;
  function_ = function;
  instructions_ = instructions;
  ++number_;
  asking_ = true;
  if (again_) return;
  answer_ = {};
  lines_.clear();
  said_ = instructions ? "reading instructions …" : "reading source …";
}

void SourceTable::show(SourceAnswer answer) {
  if (answer.number != number_) return;  // of a question before
  asking_ = false;
  answer_ = std::move(answer);
  said_ = answer_.missing;
  lines_.clear();
  uint64_t most = 0;
  for (const sink::AnnotatedPart& part : answer_.parts) {
    lines_.push_back({part.where, nullptr});
    for (const sink::AnnotatedLine& line : part.lines) {
      if (line.after_gap) lines_.push_back({"…", nullptr});
      if (line.self > most) {
        most = line.self;
        if (!again_) list_.go_to(static_cast<int>(lines_.size()));
      }
      lines_.push_back({part.instructions ? fmt::format("{:12x}  {}", line.at, line.text) : fmt::format("{:6}  {}", line.at, line.text), &line});
    }
  }
}

void SourceTable::draw(Grid& grid, const Rect& rect, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const Style head{.bold = true};
  const bool narrow = rect.width < kTwoNumbers;
  const int text_x = rect.x + (narrow ? 10 : 20);
  grid.put_right(rect.x + 9, rect.y, "self", head);
  if (!narrow) grid.put_right(rect.x + 19, rect.y, "total", head);
  grid.put(text_x, rect.y, fmt::format("{}{}", look.name(function_), instructions_ ? ", instructions" : ""), head, rect.width - text_x);
  const int said_y = rect.y + std::min(2, rect.height - 1);
  if (!said_.empty()) grid.put(rect.x + 1, said_y, said_, {}, rect.width - 2);
  if (!answer_.missing.empty() && !instructions_ && said_y + 1 < rect.y + rect.height) grid.put(rect.x + 1, said_y + 1, "a: its instructions", kSoft, rect.width - 2);
  const auto share = [&](uint64_t cost) { return cost == 0 ? "" : percent(static_cast<double>(cost), static_cast<double>(answer_.all)); };
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const Line& line = lines_[static_cast<size_t>(list_.first() + row)];
    const int y = rect.y + 1 + row;
    if (line.of != nullptr) {
      grid.put_right(rect.x + 9, y, share(line.of->self));
      if (!narrow) grid.put_right(rect.x + 19, y, share(line.of->total));
    }
    grid.put(text_x, y, line.text, {.bold = line.of != nullptr && line.of->self != 0, .dim = line.of == nullptr}, rect.width - text_x);
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

bool SourceTable::press(const Input& input) { return list_.press(input); }

}  // namespace cicada::top

// SPDX-License-Identifier: Apache-2.0
#include "top/flame_pane.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace cicada::top {

namespace {

constexpr int kLeastForText = 3;

}  // namespace

void FlamePane::show(Boxes boxes, bool grown) {
  if (grown && boxes_ && rect_.width > 0) boxes.keep_order_of(*boxes_, 2 * (*boxes_)[zoom_box_].total / rect_.width);
  else ends_.clear();
  boxes_.emplace(std::move(boxes));
  zoom_box_ = find_path(*boxes_, zoom_, &zoom_is_there_);
  picked_box_ = find_path(*boxes_, picked_);
  placed_.clear();
}

// A child ends where it ended, if that is near enough: no more than `slack` columns from where it belongs. Kept inside its parent and behind its elder sibling it
// is as near: where their ends belong is on the other side of where its own does, and they are as near themselves. So errors do not add up.
int FlamePane::end_of(uint64_t path, double to, int x, const Span& parent) {
  constexpr double kSame = 1e-6;  // columns, of the last child of one that spends nothing itself
  int end = parent.end;
  if (to < parent.to - kSame) {
    const auto last = last_ends_.find(path);
    end = last != last_ends_.end() && std::abs(last->second - to) <= slack_ ? last->second : static_cast<int>(std::lround(to));
    end = std::clamp(end, x, parent.end);
  }
  return ends_[path] = end;
}

void FlamePane::add_children(const Span& parent, double scale, std::vector<Span>& to) {
  double from = parent.from;
  int x = parent.x;
  for (const uint32_t child : boxes_->children(parent.box)) {
    const double end = from + (*boxes_)[child].total * scale;
    to.push_back({child, from, end, x, end_of(boxes_->path(child), end, x, parent)});
    from = end;
    x = to.back().end;
  }
}

void FlamePane::place(int columns, int levels) {
  placed_.clear();
  goes_on_ = false;
  const double whole = (*boxes_)[zoom_box_].total;
  if (whole <= 0) return;
  slack_ = std::max(kLeastSlack, columns * kSlack);
  std::swap(ends_, last_ends_);
  ends_.clear();
  if (std::exchange(ends_are_of_, {boxes_->path(zoom_box_), columns}) != ends_are_of_) last_ends_.clear();
  std::vector<Span> level{{zoom_box_, 0, static_cast<double>(columns), 0, columns}}, next;
  for (int depth = 0; depth < levels && !level.empty(); ++depth) {
    int begin_of_small = -1, end_of_small = 0;
    const auto end_run = [&] {
      if (begin_of_small >= 0 && end_of_small > begin_of_small) placed_.push_back({Boxes::kNone, begin_of_small, end_of_small - begin_of_small, depth});
      begin_of_small = -1;
    };
    next.clear();
    for (const Span& one : level) {
      const bool picked = one.box == picked_box_;  // it is seen, however small it is
      if (one.end <= one.x && !picked) {
        if (begin_of_small >= 0 && one.x > end_of_small) end_run();  // between them is what somebody spent himself
        if (begin_of_small < 0) begin_of_small = one.x;
        end_of_small = std::max(one.end, static_cast<int>(std::ceil(one.to)));
        continue;
      }
      end_of_small = std::min(end_of_small, one.x);
      end_run();
      placed_.push_back({one.box, std::min(one.x, columns - 1), std::max(1, one.end - one.x), depth});
      add_children(one, columns / whole, next);
    }
    end_of_small = std::min(end_of_small, columns);
    end_run();
    std::swap(level, next);
  }
  goes_on_ = std::any_of(level.begin(), level.end(), [](const Span& one) { return one.end > one.x; });
}

void FlamePane::draw(Grid& grid, const Rect& rect, const Model& model, Look& look, bool has_keys) {
  rect_ = rect;
  if (!boxes_ || rect.height <= 0 || rect.width <= 0) return;
  if ((*boxes_)[zoom_box_].total <= 0 || !zoom_is_there_) {
    const std::string what = zoom_.empty() ? "no samples in what is chosen" : fmt::format("no samples in {} now", look.name(zoom_.back()));
    grid.put(rect.x + 1, rect.y + rect.height / 2, what, kSoft, rect.width - 2);
    placed_.clear();
    goes_on_ = false;
    return;
  }
  // What is picked is on the screen.
  const int level_of_pick = static_cast<int>((*boxes_)[picked_box_].depth) - static_cast<int>((*boxes_)[zoom_box_].depth);
  first_level_ = std::clamp(first_level_, std::max(0, level_of_pick - rect.height + 1), std::max(0, level_of_pick));
  place(rect.width, first_level_ + rect.height);
  if (!goes_on_) first_level_ = std::clamp(placed_.back().level + 1 - rect.height, 0, first_level_);  // no rows are left empty below while some are above
  const auto draw_one = [&](const Placed& one) {
    const int row = one.level - first_level_, y = grows_up_ ? rect.y + rect.height - 1 - row : rect.y + row, x = rect.x + one.x;
    if (one.box == Boxes::kNone) {
      for (int i = 0; i < one.width; ++i) grid.put(x + i, y, "·", {}, 1);
      return;
    }
    const bool picked = one.box == picked_box_ && has_keys;
    const int left = one.width - 1;
    const bool has_text = left >= kLeastForText || one.width == rect.width;
    Style style = picked ? kPicked : look.style_of_box(model, *boxes_, one.box, has_text);
    // Neighbours of one colour are told apart. Else there is no ink where there is no text: each change of it takes more bytes than what it shows.
    const bool marked = !look.colours || picked || (x > rect.x && grid.at(x - 1, y).style.ground == style.ground);
    if (!marked && !has_text) style.ink = kUsual;
    grid.fill({x, y, one.width, 1}, style);
    if (marked) grid.put(x, y, look.colours ? "▏" : picked ? ">" : "|", style, 1);
    if (has_text) grid.put(x + 1, y, look.name(boxes_->name(one.box)), style, left - (left > kLeastForText ? 1 : 0));
  };
  const Placed* picked = nullptr;  // over its neighbours, if it is too small
  for (const Placed& one : placed_) {
    if (one.level < first_level_) continue;
    if (one.box == picked_box_) picked = &one;
    else draw_one(one);
  }
  if (picked != nullptr) draw_one(*picked);
}

bool FlamePane::press(const Input& input) {
  using Kind = Input::Kind;
  if (!boxes_) return false;
  const auto towards_root = [&] {
    if (picked_box_ != zoom_box_) pick((*boxes_)[picked_box_].parent);
    else if (zoom_box_ != 0) zoom_to((*boxes_)[zoom_box_].parent);
  };
  const int page = std::max(1, rect_.height / 2) * (grows_up_ ? -1 : 1);
  switch (input.kind) {
    case Kind::kDown: grows_up_ ? towards_root() : go_down(1); return true;
    case Kind::kUp: grows_up_ ? go_down(1) : towards_root(); return true;
    case Kind::kLeft: move_sideways(-1); return true;
    case Kind::kRight: move_sideways(1); return true;
    case Kind::kEnter: zoom_to(picked_box_); return true;
    case Kind::kBackspace:
      if (zoom_.empty()) return false;
      if (zoom_is_there_) {
        zoom_to((*boxes_)[zoom_box_].parent);
      } else {
        zoom_.pop_back();
        zoom_box_ = find_path(*boxes_, zoom_, &zoom_is_there_);
      }
      return true;
    case Kind::kHome: pick(zoom_box_); return true;
    case Kind::kEnd: go_down(std::numeric_limits<int>::max()); return true;
    case Kind::kPageDown: go_down(page); return true;
    case Kind::kPageUp: go_down(-page); return true;
    case Kind::kWheelDown: go_down(grows_up_ ? -3 : 3); return true;
    case Kind::kWheelUp: go_down(grows_up_ ? 3 : -3); return true;
    default: return false;
  }
}

bool FlamePane::click(int x, int y, bool twice) {
  if (!boxes_ || x < rect_.x || x >= rect_.x + rect_.width || y < rect_.y || y >= rect_.y + rect_.height) return false;
  const int level = first_level_ + (grows_up_ ? rect_.y + rect_.height - 1 - y : y - rect_.y);
  for (const Placed& one : placed_) {
    if (one.level != level || one.box == Boxes::kNone || x < rect_.x + one.x || x >= rect_.x + one.x + one.width) continue;
    pick(one.box);
    if (twice) zoom_to(one.box);
    return true;
  }
  return true;
}

void FlamePane::go_down(int levels) {
  if (!boxes_) return;
  uint32_t box = picked_box_;
  for (; levels > 0; --levels) {
    const uint32_t child = boxes_->heaviest_child(box);
    if (child == Boxes::kNone) break;
    box = child;
  }
  for (; levels < 0 && box != zoom_box_; ++levels) box = (*boxes_)[box].parent;
  pick(box);
}

bool FlamePane::find_match(Look& look, bool forward) {
  if (!boxes_) return false;
  const uint32_t found = boxes_->find_next(zoom_box_, picked_box_, forward, [&](uint32_t box) { return box != 0 && look.matches(boxes_->name(box)); });
  if (found != Boxes::kNone) pick(found);
  return found != Boxes::kNone;
}

void FlamePane::reset() {
  zoom_.clear();
  picked_.clear();
  first_level_ = 0;
  zoom_is_there_ = true;
  zoom_box_ = picked_box_ = 0;
}

void FlamePane::pick(uint32_t box) {
  picked_box_ = box;
  picked_ = path_of(*boxes_, box);
}

void FlamePane::zoom_to(uint32_t box) {
  zoom_box_ = box;
  zoom_ = path_of(*boxes_, box);
  zoom_is_there_ = true;
  first_level_ = 0;
  if (picked_.size() < zoom_.size() || !std::equal(zoom_.begin(), zoom_.end(), picked_.begin())) pick(box);
}

// The box beside it on its level, whosever child it is.
void FlamePane::move_sideways(int step) {
  size_t at = 0;
  while (at < placed_.size() && placed_[at].box != picked_box_) ++at;
  if (at == placed_.size()) return;
  for (size_t next = at + static_cast<size_t>(step); next < placed_.size() && placed_[next].level == placed_[at].level; next += static_cast<size_t>(step))
    if (placed_[next].box != Boxes::kNone) return pick(placed_[next].box);
}

}  // namespace cicada::top

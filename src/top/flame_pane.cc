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

void FlamePane::show(Boxes boxes) {
  boxes_.emplace(std::move(boxes));
  zoom_box_ = find_path(*boxes_, zoom_, &zoom_is_there_);
  picked_box_ = find_path(*boxes_, picked_);
  placed_.clear();
}

void FlamePane::place(int columns, int levels) {
  placed_.clear();
  struct Wide {
    uint32_t box;
    double from;
  };
  const double whole = (*boxes_)[zoom_box_].total;
  if (whole <= 0) return;
  const double scale = columns / whole;
  std::vector<Wide> level{{zoom_box_, 0}}, next;
  for (int depth = 0; depth < levels && !level.empty(); ++depth) {
    int begin_of_small = -1, end_of_small = 0;
    const auto end_run = [&] {
      if (begin_of_small >= 0 && end_of_small > begin_of_small) placed_.push_back({Boxes::kNone, begin_of_small, end_of_small - begin_of_small, depth});
      begin_of_small = -1;
    };
    next.clear();
    for (const auto& [box, from] : level) {
      const double to = from + (*boxes_)[box].total * scale;
      const int x = static_cast<int>(std::lround(from)), end = static_cast<int>(std::lround(to));
      const bool picked = box == picked_box_;  // it is seen, however small it is
      if (end <= x && !picked) {
        if (begin_of_small >= 0 && x > end_of_small) end_run();  // between them is what somebody spent himself
        if (begin_of_small < 0) begin_of_small = x;
        end_of_small = std::max(end, static_cast<int>(std::ceil(to)));
        continue;
      }
      end_of_small = std::min(end_of_small, x);
      end_run();
      placed_.push_back({box, std::min(x, columns - 1), std::max(1, end - x), depth});
      double at = from;
      for (const uint32_t child : boxes_->children(box)) {
        next.push_back({child, at});
        at += (*boxes_)[child].total * scale;
      }
    }
    end_of_small = std::min(end_of_small, columns);
    end_run();
    std::swap(level, next);
  }
}

void FlamePane::draw(Grid& grid, const Rect& rect, const Model& model, Look& look, bool has_keys) {
  rect_ = rect;
  if (!boxes_ || rect.height <= 0 || rect.width <= 0) return;
  if ((*boxes_)[zoom_box_].total <= 0 || !zoom_is_there_) {
    const std::string what = zoom_.empty() ? "no samples in what is chosen" : fmt::format("no samples in {} now", look.name(zoom_.back()));
    grid.put(rect.x + 1, rect.y + rect.height / 2, what, kSoft, rect.width - 2);
    placed_.clear();
    return;
  }
  // What is picked is on the screen.
  const int level_of_pick = static_cast<int>((*boxes_)[picked_box_].depth) - static_cast<int>((*boxes_)[zoom_box_].depth);
  first_level_ = std::clamp(first_level_, std::max(0, level_of_pick - rect.height + 1), std::max(0, level_of_pick));
  place(rect.width, first_level_ + rect.height);
  const auto draw_one = [&](const Placed& one) {
    const int row = one.level - first_level_, y = grows_up_ ? rect.y + rect.height - 1 - row : rect.y + row, x = rect.x + one.x;
    if (one.box == Boxes::kNone) {
      for (int i = 0; i < one.width; ++i) grid.put(x + i, y, "·", kSoft, 1);
      return;
    }
    const bool picked = one.box == picked_box_ && has_keys;
    const Style style = picked ? kPicked : look.style_of_box(model, *boxes_, one.box);
    grid.fill({x, y, one.width, 1}, style);
    // Neighbours of one colour are told apart.
    Style edge = style;
    if (look.colours && !picked) edge.ink = kEdgeInk;
    int at = x;
    grid.put(at++, y, look.colours ? "▏" : picked ? ">" : "|", edge, 1);
    if (const int left = x + one.width - at; left >= kLeastForText || one.width == rect.width) grid.put(at, y, look.name(boxes_->name(one.box)), style, left - (left > kLeastForText ? 1 : 0));
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

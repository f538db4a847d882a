// SPDX-License-Identifier: Apache-2.0
#include "top/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/frame_text.h"

namespace cicada::top {

using profile::CallNode;
using Kind = Input::Kind;

namespace {

constexpr uint32_t kNone = 0xffffffff;
constexpr int kPlaceColumns = 26, kBarColumns = 10, kWide = 70;
constexpr double kOfAll = 0.005;  // two that differ by less do not change places

}  // namespace

// --- functions

void FunctionTable::show(const Model& model) {
  lines_ = model.functions(by_total_);
  for (size_t i = 0; i < lines_.size() && !picked_.empty(); ++i) {
    if (model.tree().text(model.tree().nodes[lines_[i].node].name) != picked_) continue;
    list_.go_to(static_cast<int>(i));
    break;
  }
  list_.set_lines(static_cast<int>(lines_.size()));
}

void FunctionTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const bool wide = rect.width >= kWide;
  const bool narrow = rect.width < kTwoNumbers;
  const int name_x = narrow ? rect.x + 10 : rect.x + 20 + (wide ? kBarColumns + 1 : 0), place_x = wide ? rect.x + rect.width - kPlaceColumns : rect.x + rect.width;
  const Style head{.bold = true};
  const auto put_numbers = [&](int y, const std::string& self, const std::string& total, const Style& style) {
    if (!narrow || !by_total_) grid.put_right(rect.x + 9, y, self, style);
    if (!narrow || by_total_) grid.put_right(rect.x + (narrow ? 9 : 19), y, total, style);
  };
  put_numbers(rect.y, by_total_ ? "self" : "self ▾", by_total_ ? "total ▾" : "total", head);
  grid.put(name_x, rect.y, "function", head, place_x - name_x - 1);
  if (wide) grid.put(place_x, rect.y, "where", head, kPlaceColumns);
  const double whole = model.costs().whole();
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const FunctionLine& line = lines_[static_cast<size_t>(list_.first() + row)];
    const CallNode& node = model.tree().nodes[line.node];
    const int y = rect.y + 1 + row;
    const std::string_view name = model.tree().text(node.name);
    put_numbers(y, percent(line.self, whole), percent(line.total, whole), look.style_of_change(model, line.total, line.before));
    if (wide) grid.put(rect.x + 20, y, bar(by_total_ ? line.total / whole : line.self / whole, kBarColumns), {.ink = 0xff8700});
    const bool match = look.matches(name);
    grid.put(name_x, y, look.name(name), {.bold = match, .dim = look.own_code && Look::is_foreign(node), .underline = match}, place_x - name_x - 1);
    if (wide) grid.put(place_x, y, place_of(model.tree(), model.node(line.node)), kSoft, kPlaceColumns);
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

bool FunctionTable::press(const Input& input, const Model& model) {
  if (input.kind == Kind::kLetter && input.letter == U'o') {
    by_total_ = !by_total_;
    show(model);
    return true;
  }
  if (!list_.press(input)) return false;
  remember(model);
  return true;
}

void FunctionTable::remember(const Model& model) {
  const profile::StringId name = picked(model);
  picked_ = name.valid() ? std::string(model.tree().text(name)) : "";
}

bool FunctionTable::click(int y, const Model& model) {
  if (!list_.click(y, rect_)) return false;
  remember(model);
  return true;
}

bool FunctionTable::find_match(const Model& model, Look& look, bool forward) {
  const int count = static_cast<int>(lines_.size());
  for (int i = 1; i <= count; ++i) {
    const int at = (list_.at() + (forward ? i : count - i)) % count;
    if (!look.matches(model.tree().text(model.tree().nodes[lines_[static_cast<size_t>(at)].node].name))) continue;
    list_.go_to(at);
    remember(model);
    return true;
  }
  return false;
}

profile::StringId FunctionTable::picked(const Model& model) const {
  return lines_.empty() ? profile::StringId() : model.tree().nodes[lines_[static_cast<size_t>(list_.at())].node].name;
}

// --- the call tree

void CallTreeTable::show(Boxes boxes, bool has_samples, bool grown) {
  if (grown && boxes_) boxes.keep_order_of(*boxes_, boxes[0].total * kOfAll);
  boxes_.emplace(std::move(boxes));
  find_opened();
  if (has_samples && !std::exchange(begun_, true)) open_heaviest(0);
  list_lines();
}

// Those that were opened, among these boxes.
void CallTreeTable::find_opened() {
  if (opened_.size() > kMostOpened) opened_.assign(1, {});
  std::vector<uint32_t> box_of(opened_.size(), Boxes::kNone);
  box_of[0] = 0;
  for (uint32_t i = 1; i < opened_.size(); ++i)
    if (const uint32_t parent = box_of[opened_[i].parent]; parent != Boxes::kNone) box_of[i] = boxes_->find(parent, opened_[i].name);
  opened_of_.assign(boxes_->size(), Boxes::kNone);
  for (uint32_t i = 0; i < opened_.size(); ++i)
    if (box_of[i] != Boxes::kNone) opened_of_[box_of[i]] = i;
}

// What is opened, depth first.
void CallTreeTable::list_lines() {
  lines_.clear();
  bool there = false;
  const uint32_t picked = find_path(*boxes_, picked_, &there);
  int at_picked = -1;
  std::vector<uint32_t> stack{0};
  while (!stack.empty() && lines_.size() < kMostLines) {
    const uint32_t box = stack.back();
    stack.pop_back();
    if (there && box == picked) at_picked = static_cast<int>(lines_.size());
    lines_.push_back(box);
    if (!is_open(box)) continue;
    const auto children = boxes_->children(box);
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  if (at_picked >= 0) list_.go_to(at_picked);
  list_.set_lines(static_cast<int>(lines_.size()));
}

void CallTreeTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  if (!boxes_) return;
  const bool wide = rect.width >= kWide;
  const bool narrow = rect.width < kTwoNumbers;
  const int name_x = rect.x + (narrow ? 10 : 20), place_x = wide ? rect.x + rect.width - kPlaceColumns : rect.x + rect.width;
  const Style head{.bold = true};
  grid.put_right(rect.x + 9, rect.y, "total", head);
  if (!narrow) grid.put_right(rect.x + 19, rect.y, "self", head);
  grid.put(name_x, rect.y, "call tree", head, place_x - name_x - 1);
  if (wide) grid.put(place_x, rect.y, "where", head, kPlaceColumns);
  const double whole = model.costs().whole();
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const uint32_t box = lines_[static_cast<size_t>(list_.first() + row)];
    const Boxes::Box one = (*boxes_)[box];
    const CallNode& node = model.tree().nodes[one.node];
    const int y = rect.y + 1 + row, indent = std::min<int>(static_cast<int>(one.depth), std::max(0, (place_x - name_x) / 2));
    grid.put_right(rect.x + 9, y, percent(one.total, whole));
    if (!narrow) grid.put_right(rect.x + 19, y, percent(one.self, whole));
    const bool has_children = !boxes_->children(box).empty();
    grid.put(name_x + indent, y, has_children ? (is_open(box) ? "▾ " : "▸ ") : "  ", kSoft);
    const std::string_view name = boxes_->name(box);
    const bool match = box != 0 && look.matches(name);
    grid.put(name_x + indent + 2, y, look.name(name), {.bold = match, .dim = look.own_code && box != 0 && Look::is_foreign(node), .underline = match}, place_x - name_x - indent - 3);
    if (wide && box != 0) grid.put(place_x, y, place_of(model.tree(), model.node(one.node)), kSoft, kPlaceColumns);
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

// Its parent was opened before.
void CallTreeTable::open(uint32_t box, bool opened) {
  opened_of_.resize(boxes_->size(), Boxes::kNone);
  if (opened_of_[box] != Boxes::kNone) {
    opened_[opened_of_[box]].open = opened;
  } else if (opened) {
    const uint32_t parent = (*boxes_)[box].parent;
    opened_of_[box] = static_cast<uint32_t>(opened_.size());
    opened_.push_back({opened_of_[parent], std::string(boxes_->name(box))});
  }
}

void CallTreeTable::pick(uint32_t box) {
  picked_ = path_of(*boxes_, box);
  list_lines();
}

uint32_t CallTreeTable::open_heaviest(uint32_t box) {
  for (;;) {
    const uint32_t child = boxes_->heaviest_child(box);
    if (child == Boxes::kNone) return box;
    open(box, true);
    box = child;
  }
}

bool CallTreeTable::press(const Input& input) {
  if (!boxes_) return false;
  const uint32_t box = picked();
  const bool opened = is_open(box);
  if (input.kind == Kind::kEnter || (input.kind == Kind::kLetter && input.letter == U'+')) {
    open(box, !opened);
    pick(box);
    return true;
  }
  if (input.kind == Kind::kRight) {
    if (opened) {
      list_.press({.kind = Kind::kDown});
      pick(picked());
    } else {
      open(box, true);
      pick(box);
    }
    return true;
  }
  if (input.kind == Kind::kLeft) {
    if (opened) open(box, false);
    pick(opened ? box : (*boxes_)[box].parent);
    return true;
  }
  if (input.kind == Kind::kLetter && input.letter == U'h') {
    pick(open_heaviest(box));
    return true;
  }
  if (!list_.press(input)) return false;
  picked_ = path_of(*boxes_, picked());
  return true;
}

bool CallTreeTable::click(int y, bool twice) {
  if (!boxes_ || !list_.click(y, rect_)) return false;
  const uint32_t box = picked();
  if (twice) open(box, !is_open(box));
  pick(box);
  return true;
}

bool CallTreeTable::find_match(Look& look, bool forward) {
  if (!boxes_) return false;
  const uint32_t found = boxes_->find_next(0, picked(), forward, [&](uint32_t box) { return box != 0 && look.matches(boxes_->name(box)); });
  if (found == Boxes::kNone) return false;
  std::vector<uint32_t> above;
  for (uint32_t at = found; at != 0; at = (*boxes_)[at].parent) above.push_back((*boxes_)[at].parent);
  for (size_t i = above.size(); i-- > 0;) open(above[i], true);
  pick(found);
  return true;
}

}  // namespace cicada::top

// SPDX-License-Identifier: Apache-2.0
#include "top/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/cpu_time.h"
#include "profile/frame_text.h"

namespace cicada::top {

using profile::CallNode;
using Kind = Input::Kind;

namespace {

constexpr int kPlaceColumns = 26, kBarColumns = 10, kNarrow = 70;

void draw_cursor(Grid& grid, const Rect& rect, int y, const Look& look) {
  grid.restyle({rect.x, y, rect.width, 1}, look.colours ? kPicked : Style{.bold = true, .reverse = true});
}

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
  const bool wide = rect.width >= kNarrow;
  const int name_x = rect.x + 20 + (wide ? kBarColumns + 1 : 0), place_x = wide ? rect.x + rect.width - kPlaceColumns : rect.x + rect.width;
  const Style head{.bold = true};
  grid.put_right(rect.x + 9, rect.y, by_total_ ? "self" : "self ▾", head);
  grid.put_right(rect.x + 19, rect.y, by_total_ ? "total ▾" : "total", head);
  grid.put(name_x, rect.y, "function", head, place_x - name_x - 1);
  if (wide) grid.put(place_x, rect.y, "where", head, kPlaceColumns);
  const double whole = model.costs().whole();
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const FunctionLine& line = lines_[static_cast<size_t>(list_.first() + row)];
    const CallNode& node = model.tree().nodes[line.node];
    const int y = rect.y + 1 + row;
    const std::string_view name = model.tree().text(node.name);
    grid.put_right(rect.x + 9, y, percent(line.self, whole));
    grid.put_right(rect.x + 19, y, percent(line.total, whole));
    if (wide) grid.put(rect.x + 20, y, bar(by_total_ ? line.total / whole : line.self / whole, kBarColumns), {.ink = 0xff8700});
    const bool match = look.matches(name);
    grid.put(name_x, y, look.name(name), {.bold = match, .dim = look.own_code && Look::is_foreign(node), .underline = match}, place_x - name_x - 1);
    if (wide) grid.put(place_x, y, place_of(model.tree(), node), kSoft, kPlaceColumns);
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

bool FunctionTable::press(const Input& input, const Model& model, Look&) {
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

bool FunctionTable::click(int y) {
  if (y <= rect_.y || y >= rect_.y + rect_.height) return false;
  list_.go_to(list_.first() + y - rect_.y - 1);
  list_.fit(static_cast<int>(lines_.size()), rect_.height - 1);
  picked_.clear();
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

void CallTreeTable::show(Boxes boxes, bool has_samples) {
  boxes_.emplace(std::move(boxes));
  if (has_samples && !std::exchange(begun_, true)) open_heaviest(0);
  list_lines();
}

void CallTreeTable::list_lines() {
  lines_.clear();
  // What is opened, depth first.
  std::vector<uint32_t> stack{0};
  int picked = -1;
  while (!stack.empty()) {
    const uint32_t box = stack.back();
    stack.pop_back();
    const Path path = path_of(*boxes_, box);
    if (path == picked_) picked = static_cast<int>(lines_.size());
    lines_.push_back(box);
    if (box != 0 && !opened_.contains(path)) continue;
    const auto children = boxes_->children(box);
    for (size_t i = children.size(); i-- > 0;) stack.push_back(children[i]);
  }
  if (picked >= 0) list_.go_to(picked);
  list_.set_lines(static_cast<int>(lines_.size()));
}

void CallTreeTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  if (!boxes_) return;
  const bool wide = rect.width >= kNarrow;
  const int name_x = rect.x + 20, place_x = wide ? rect.x + rect.width - kPlaceColumns : rect.x + rect.width;
  const Style head{.bold = true};
  grid.put_right(rect.x + 9, rect.y, "total", head);
  grid.put_right(rect.x + 19, rect.y, "self", head);
  grid.put(name_x, rect.y, "call tree", head, place_x - name_x - 1);
  if (wide) grid.put(place_x, rect.y, "where", head, kPlaceColumns);
  const double whole = model.costs().whole();
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const uint32_t box = lines_[static_cast<size_t>(list_.first() + row)];
    const Boxes::Box one = (*boxes_)[box];
    const CallNode& node = model.tree().nodes[one.node];
    const int y = rect.y + 1 + row, indent = std::min<int>(static_cast<int>(one.depth), std::max(0, (place_x - name_x) / 2));
    grid.put_right(rect.x + 9, y, percent(one.total, whole));
    grid.put_right(rect.x + 19, y, percent(one.self, whole));
    const bool has_children = !boxes_->children(box).empty(), opened = box == 0 || opened_.contains(path_of(*boxes_, box));
    grid.put(name_x + indent, y, has_children ? (opened ? "▾ " : "▸ ") : "  ", kSoft);
    const std::string_view name = boxes_->name(box);
    const bool match = box != 0 && look.matches(name);
    grid.put(name_x + indent + 2, y, look.name(name), {.bold = match, .dim = look.own_code && box != 0 && Look::is_foreign(node), .underline = match}, place_x - name_x - indent - 3);
    if (wide && box != 0) grid.put(place_x, y, place_of(model.tree(), node), kSoft, kPlaceColumns);
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

void CallTreeTable::open(uint32_t box, bool opened) {
  const Path path = path_of(*boxes_, box);
  if (opened) opened_.insert(path);
  else opened_.erase(path);
  picked_ = path;
  list_lines();
}

// Returns its end.
uint32_t CallTreeTable::open_heaviest(uint32_t box) {
  for (;;) {
    const auto children = boxes_->children(box);
    if (children.empty()) return box;
    if (box != 0) opened_.insert(path_of(*boxes_, box));
    box = *std::max_element(children.begin(), children.end(), [&](uint32_t a, uint32_t b) { return (*boxes_)[a].total < (*boxes_)[b].total; });
  }
}

bool CallTreeTable::press(const Input& input, Look&) {
  if (!boxes_) return false;
  const uint32_t box = picked();
  const bool opened = box == 0 || opened_.contains(path_of(*boxes_, box));
  if (input.kind == Kind::kEnter || (input.kind == Kind::kLetter && input.letter == U'+')) {
    if (box != 0) open(box, !opened);
    return true;
  }
  if (input.kind == Kind::kRight) {
    if (!opened) open(box, true);
    else list_.press({.kind = Kind::kDown});
    picked_ = path_of(*boxes_, picked());
    return true;
  }
  if (input.kind == Kind::kLeft) {
    if (opened && box != 0) {
      open(box, false);
    } else {
      picked_ = path_of(*boxes_, (*boxes_)[box].parent);
      list_lines();
    }
    return true;
  }
  if (input.kind == Kind::kLetter && input.letter == U'h') {  // the heaviest path
    picked_ = path_of(*boxes_, open_heaviest(box));
    list_lines();
    return true;
  }
  if (!list_.press(input)) return false;
  picked_ = path_of(*boxes_, picked());
  return true;
}

bool CallTreeTable::click(int y, bool twice) {
  if (!boxes_ || y <= rect_.y || y >= rect_.y + rect_.height) return false;
  list_.go_to(list_.first() + y - rect_.y - 1);
  list_.fit(static_cast<int>(lines_.size()), rect_.height - 1);
  picked_ = path_of(*boxes_, picked());
  if (twice && picked() != 0) open(picked(), !opened_.contains(picked_));
  return true;
}

// --- processes and threads

ProcessTable::Which ProcessTable::which(const Model& model, const ThreadLine& line) const {
  const profile::Process& process = model.profile().processes()[line.process.value];
  return {{process.pid, process.start_ns}, line.thread.valid() ? model.profile().threads()[line.thread.value].tid : 0};
}

void ProcessTable::show(const Model& model) {
  lines_.clear();
  std::vector<ThreadLine> threads;
  if (!opened_.empty()) threads = model.threads(true);
  for (ThreadLine& line : model.threads(false)) {
    const profile::Process& process = model.profile().processes()[line.process.value];
    const profile::ProcessId id = line.process;
    lines_.push_back(std::move(line));
    if (!opened_.contains({process.pid, process.start_ns})) continue;
    for (const ThreadLine& thread : threads)
      if (thread.process == id) lines_.push_back(thread);
  }
  for (size_t i = 0; i < lines_.size() && picked_; ++i)
    if (which(model, lines_[i]) == *picked_) list_.go_to(static_cast<int>(i));
  list_.set_lines(static_cast<int>(lines_.size()));
}

void ProcessTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const profile::ProfileSnapshot& profile = model.profile();
  const double per_value = profile::seconds_per_value(profile, model.event());
  const Style head{.bold = true};
  const int spark_x = rect.x + 21, name_x = spark_x + static_cast<int>(Model::kSparkSeconds) + 2;
  grid.put_right(rect.x + 9, rect.y, per_value > 0 ? "CPU %" : "recent", head);
  grid.put_right(rect.x + 19, rect.y, "share", head);
  grid.put(spark_x, rect.y, fmt::format("last {} s", Model::kSparkSeconds), head);
  grid.put(name_x, rect.y, "process", head);
  double most = 0;
  for (const ThreadLine& line : lines_) most = std::max(most, *std::max_element(line.seconds.begin(), line.seconds.end()));
  if (per_value > 0) most = std::max(most, 1 / per_value);  // one CPU fills it
  const double whole = model.costs().whole();
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const ThreadLine& line = lines_[static_cast<size_t>(list_.first() + row)];
    const int y = rect.y + 1 + row;
    grid.put_right(rect.x + 9, y, per_value > 0 ? fmt::format("{:.1f}", 100 * line.recent * per_value / Model::kRecentSeconds) : fmt::format("{:.0f}", line.recent));
    grid.put_right(rect.x + 19, y, percent(line.cost, whole));
    grid.put(spark_x, y, sparkline(line.seconds, most), {.ink = 0x5fafff});
    const WhichProcess process = which(model, line).first;
    const bool opened = opened_.contains({process.pid, process.start_ns});
    const bool only = model.choice().process == process && (!model.choice().tid || (line.thread.valid() && profile.threads()[line.thread.value].tid == *model.choice().tid));
    const std::string text = line.thread.valid() ? "  " + profile::thread_text(profile, line.thread) : (opened ? "▾ " : "▸ ") + profile::process_text(profile, line.process);
    const int used = grid.put(name_x, y, text, {.bold = only}, rect.x + rect.width - name_x);
    if (!line.thread.valid()) {
      const profile::Process& row_of = profile.processes()[line.process.value];
      grid.put(name_x + used + 2, y, profile.text(row_of.cgroup.valid() ? row_of.cgroup : row_of.cmdline), kSoft, rect.x + rect.width - name_x - used - 2);
    }
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

bool ProcessTable::press(const Input& input, const Model& model) {
  if (const ThreadLine* line = picked(); line != nullptr && (input.kind == Kind::kRight || input.kind == Kind::kLeft)) {
    const WhichProcess process = which(model, *line).first;
    if (input.kind == Kind::kRight) opened_.insert({process.pid, process.start_ns});
    else opened_.erase({process.pid, process.start_ns});
    picked_ = input.kind == Kind::kRight ? which(model, *line) : Which{process, 0};
    show(model);
    return true;
  }
  if (!list_.press(input)) return false;
  if (const ThreadLine* line = picked()) picked_ = which(model, *line);
  return true;
}

bool ProcessTable::click(int y) {
  if (y <= rect_.y || y >= rect_.y + rect_.height) return false;
  list_.go_to(list_.first() + y - rect_.y - 1);
  list_.fit(static_cast<int>(lines_.size()), rect_.height - 1);
  picked_.reset();
  return true;
}

}  // namespace cicada::top

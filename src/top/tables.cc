// SPDX-License-Identifier: Apache-2.0
#include "top/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "profile/cpu_time.h"
#include "profile/frame_text.h"

namespace cicada::top {

using profile::CallNode;
using Kind = Input::Kind;

namespace {

constexpr uint32_t kNone = 0xffffffff;
constexpr int kPlaceColumns = 26, kBarColumns = 10, kWide = 70, kNarrow = 50;  // a narrow screen has one number before each name
constexpr double kOfAll = 0.005;  // two that differ by less do not change places

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
  const bool wide = rect.width >= kWide;
  const bool narrow = rect.width < kNarrow;
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
    put_numbers(y, percent(line.self, whole), percent(line.total, whole), {});
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
  const bool narrow = rect.width < kNarrow;
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

// --- processes and threads

namespace {

void add(ThreadLine& to, const ThreadLine& what) {
  to.cost += what.cost;
  to.recent += what.recent;
  to.seconds.resize(Model::kSparkSeconds);
  for (size_t s = 0; s < what.seconds.size(); ++s) to.seconds[s] += what.seconds[s];
}

const Style& style_of(char run_state) {
  static const Style running{.ink = 0x5fd75f, .bold = true}, device{.ink = 0xff5f5f, .bold = true}, stopped{.ink = 0xffd75f};
  return run_state == 'R' ? running : run_state == 'D' ? device : run_state == 'T' || run_state == 't' || run_state == 'Z' ? stopped : kSoft;
}

std::string key_of(const profile::Process& process) { return fmt::format("p{} {}", process.pid, process.start_ns); }

}  // namespace

bool ProcessTable::is_heavier(const ThreadLine& a, const ThreadLine& b) const {
  return by_share_ ? std::pair(a.cost, a.recent) > std::pair(b.cost, b.recent) : std::pair(a.recent, a.cost) > std::pair(b.recent, b.cost);
}

void ProcessTable::show(const Model& model) {
  std::vector<ThreadLine> threads = model.threads();
  std::stable_sort(threads.begin(), threads.end(), [&](const ThreadLine& a, const ThreadLine& b) { return is_heavier(a, b); });
  std::vector<OfProcess> all;
  std::vector<uint32_t> place_of(model.profile().processes().size(), kNone);
  for (const ThreadLine& thread : threads) {
    uint32_t& place = place_of[thread.process.value];
    if (place == kNone) {
      place = static_cast<uint32_t>(all.size());
      all.emplace_back().sum.process = thread.process;
    }
    add(all[place].sum, thread);
    all[place].threads.push_back(&thread);
  }
  std::stable_sort(all.begin(), all.end(), [&](const OfProcess& a, const OfProcess& b) { return is_heavier(a.sum, b.sum); });
  lines_.clear();
  if (arrangement_ == Arrangement::kTree) add_tree(model, all);
  else if (arrangement_ == Arrangement::kCgroups) add_cgroups(model, all);
  else
    for (const OfProcess& one : all) add_process(model, one, 0);
  for (size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].key == picked_) list_.go_to(static_cast<int>(i));
  list_.set_lines(static_cast<int>(lines_.size()));
}

void ProcessTable::add_process(const Model& model, const OfProcess& one, int depth) {
  const profile::Process& process = model.profile().processes()[one.sum.process.value];
  const std::string key = key_of(process);
  lines_.push_back({one.sum, key, profile::process_text(model.profile(), one.sum.process), depth, true});
  if (!opened_.contains(key)) return;
  for (const ThreadLine* thread : one.threads)
    lines_.push_back({*thread, fmt::format("t{} {}", model.profile().threads()[thread->thread.value].tid, key), profile::thread_text(model.profile(), thread->thread), depth + 1, false});
}

// Below the nearest ancestor that is listed; where children cost more, their parent stands higher.
void ProcessTable::add_tree(const Model& model, const std::vector<OfProcess>& all) {
  constexpr int kMostAbove = 64;
  const auto& processes = model.profile().processes();
  std::unordered_map<Pid, uint32_t> row_of_pid;  // of several with one number the latest
  for (uint32_t i = 0; i < processes.size(); ++i) row_of_pid[processes[i].pid] = i;
  std::unordered_map<uint32_t, uint32_t> place_of_row;
  for (uint32_t i = 0; i < all.size(); ++i) place_of_row[all[i].sum.process.value] = i;
  std::vector<uint32_t> parent(all.size(), kNone);
  for (uint32_t i = 0; i < all.size(); ++i) {
    uint32_t row = all[i].sum.process.value;
    for (int above = 0; above < kMostAbove && parent[i] == kNone; ++above) {
      const auto found = row_of_pid.find(processes[row].parent_pid);
      if (found == row_of_pid.end() || found->second == row || processes[found->second].start_ns > processes[row].start_ns) break;
      row = found->second;
      if (const auto place = place_of_row.find(row); place != place_of_row.end() && place->second != i) parent[i] = place->second;
    }
  }
  // A parent began before its children, so there are no rings.
  std::vector<ThreadLine> with_children(all.size());
  std::vector<std::vector<uint32_t>> children(all.size());
  std::vector<uint32_t> roots;
  for (uint32_t i = 0; i < all.size(); ++i) {
    (parent[i] == kNone ? roots : children[parent[i]]).push_back(i);
    int above = 0;
    for (uint32_t at = i; at != kNone && above < kMostAbove; at = parent[at], ++above) add(with_children[at], all[i].sum);
  }
  const auto sort = [&](std::vector<uint32_t>& some) { std::stable_sort(some.begin(), some.end(), [&](uint32_t a, uint32_t b) { return is_heavier(with_children[a], with_children[b]); }); };
  sort(roots);
  std::vector<std::pair<uint32_t, int>> left;
  for (size_t i = roots.size(); i-- > 0;) left.emplace_back(roots[i], 0);
  std::vector<bool> seen(all.size());
  while (!left.empty()) {
    const auto [at, depth] = left.back();
    left.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    add_process(model, all[at], depth);
    sort(children[at]);
    for (size_t i = children[at].size(); i-- > 0;) left.emplace_back(children[at][i], depth + 1);
  }
}

void ProcessTable::add_cgroups(const Model& model, const std::vector<OfProcess>& all) {
  std::vector<std::pair<ThreadLine, std::vector<const OfProcess*>>> groups;
  std::vector<std::string_view> names;
  for (const OfProcess& one : all) {
    const std::string_view name = model.profile().text(model.profile().processes()[one.sum.process.value].cgroup);
    const size_t at = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
    if (at == names.size()) {
      names.push_back(name);
      groups.emplace_back();
    }
    add(groups[at].first, one.sum);
    groups[at].second.push_back(&one);
  }
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return is_heavier(groups[a].first, groups[b].first); });
  for (const size_t i : order) {
    const std::string key = fmt::format("c{}", names[i]);
    lines_.push_back({groups[i].first, key, names[i].empty() ? "no cgroup" : std::string(names[i]), 0, true});
    if (!opened_.contains(key)) continue;
    for (const OfProcess* one : groups[i].second) add_process(model, *one, 1);
  }
}

Choice ProcessTable::only(const Model& model, const Line& line) {
  Choice choice = model.choice();
  const Choice before = choice;
  choice.process.reset();
  choice.tid.reset();
  choice.cgroup.reset();
  if (!line.costs.process.valid()) {
    choice.cgroup = line.key.substr(1);
  } else {
    const profile::Process& process = model.profile().processes()[line.costs.process.value];
    choice.process = WhichProcess{process.pid, process.start_ns};
    if (line.costs.thread.valid()) choice.tid = model.profile().threads()[line.costs.thread.value].tid;
  }
  if (choice != before) return choice;
  choice.process.reset();  // again: all
  choice.tid.reset();
  choice.cgroup.reset();
  return choice;
}

void ProcessTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look, const RunState& run_state) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const profile::ProfileSnapshot& profile = model.profile();
  const double per_value = profile::seconds_per_value(profile, model.event()), seconds = model.recent_seconds(), whole = model.costs().whole();
  const Style head{.bold = true};
  const bool narrow = rect.width < kNarrow;
  const int spark_x = rect.x + 21, state_x = narrow ? rect.x + 10 : spark_x + static_cast<int>(Model::kSparkSeconds) + 1, name_x = state_x + (run_state ? 2 : 0);
  const auto put_head = [&](int end, const std::string& text, bool sorted_by) { grid.put_right(end, rect.y, text + (sorted_by ? " ▾" : ""), head); };
  if (model.has_times()) put_head(rect.x + 9, per_value > 0 ? "CPU %" : fmt::format("last {} s", Model::kRecentSeconds), !by_share_ && per_value > 0);
  if (!narrow) put_head(rect.x + 19, "share", by_share_ || !model.has_times());
  if (run_state) grid.put(state_x, rect.y, "S", head);
  if (model.has_times() && !narrow) grid.put(spark_x, rect.y, fmt::format("last {} s", Model::kSparkSeconds), head);
  grid.put(name_x, rect.y, fmt::format("process{}", arrangement_name()), head);
  double most = per_value > 0 ? 1 / per_value : 0;  // one CPU fills it
  for (const Line& line : lines_)
    for (const double second : line.costs.seconds) most = std::max(most, second);
  for (int row = 0; row + 1 < rect.height && list_.first() + row < static_cast<int>(lines_.size()); ++row) {
    const Line& line = lines_[static_cast<size_t>(list_.first() + row)];
    const int y = rect.y + 1 + row, x = name_x + std::min(2 * line.depth, std::max(0, (rect.width - name_x) / 2));
    if (model.has_times()) grid.put_right(rect.x + 9, y, shortened(per_value > 0 ? fmt::format("{:.1f}", seconds > 0 ? 100 * line.costs.recent * per_value / seconds : 0) : amount(model, line.costs.recent), 9));
    if (!narrow) grid.put_right(rect.x + 19, y, percent(line.costs.cost, whole));
    if (!narrow) grid.put(spark_x, y, sparkline(line.costs.seconds, most), {.ink = 0x5fafff});
    if (run_state && line.costs.process.valid()) {
      const profile::Process& process = profile.processes()[line.costs.process.value];
      const char state = run_state(process.pid, process.start_ns, line.costs.thread.valid() ? profile.threads()[line.costs.thread.value].tid : process.pid);
      if (state != 0) grid.put(state_x, y, std::string(1, state), style_of(state));
    }
    grid.put(x, y, line.can_open ? (opened_.contains(line.key) ? "▾ " : "▸ ") : "  ", kSoft);
    const bool match = look.matches(line.text);
    const int used = grid.put(x + 2, y, line.text, {.bold = match, .underline = match}, rect.x + rect.width - x - 2);
    if (line.costs.process.valid() && !line.costs.thread.valid() && arrangement_ != Arrangement::kCgroups) {
      const profile::Process& process = profile.processes()[line.costs.process.value];
      const bool in_cgroup = process.cgroup.valid() && profile.text(process.cgroup) != "/";
      grid.put(x + used + 4, y, profile.text(in_cgroup ? process.cgroup : process.cmdline), kSoft, rect.x + rect.width - x - used - 4);
    }
    if (list_.first() + row == list_.at()) draw_cursor(grid, rect, y, look);
  }
}

bool ProcessTable::press(const Input& input, const Model& model) {
  if (input.kind == Kind::kLetter && input.letter == U'o' && model.has_times()) {
    by_share_ = !by_share_;
    show(model);
    return true;
  }
  const Line* line = picked();
  if (line != nullptr && (input.kind == Kind::kRight || input.kind == Kind::kLeft)) {
    if (input.kind == Kind::kRight && line->can_open) opened_.insert(line->key);
    if (input.kind == Kind::kLeft && opened_.erase(line->key) == 0) {  // to what it stands below
      int at = list_.at();
      while (at > 0 && lines_[static_cast<size_t>(at)].depth >= line->depth) --at;
      list_.go_to(at);
    }
    remember();
    show(model);
    return true;
  }
  if (!list_.press(input)) return false;
  remember();
  return true;
}

void ProcessTable::remember() { picked_ = picked() != nullptr ? picked()->key : ""; }

bool ProcessTable::click(int y) {
  if (!list_.click(y, rect_)) return false;
  remember();
  return true;
}

void ProcessTable::arrange_next(const Model& model) {
  arrangement_ = static_cast<Arrangement>((static_cast<int>(arrangement_) + 1) % 3);
  show(model);
}

std::string_view ProcessTable::arrangement_name() const { return arrangement_ == Arrangement::kFlat ? "" : arrangement_ == Arrangement::kTree ? ", as a tree" : ", by cgroup"; }

bool ProcessTable::find_match(Look& look, bool forward) {
  const int count = static_cast<int>(lines_.size());
  for (int i = 1; i <= count; ++i) {
    const int at = (list_.at() + (forward ? i : count - i)) % count;
    if (!look.matches(lines_[static_cast<size_t>(at)].text)) continue;
    list_.go_to(at);
    remember();
    return true;
  }
  return false;
}

// --- source and instructions

void SourceTable::ask(std::string function, bool instructions) {
  function_ = std::move(function);
  instructions_ = instructions;
  ++number_;
  answer_ = {};
  lines_.clear();
  said_ = instructions ? "reading instructions …" : "reading source …";
}

void SourceTable::show(SourceAnswer answer) {
  if (answer.number != number_) return;  // of a question before
  answer_ = std::move(answer);
  said_ = answer_.missing;
  uint64_t most = 0;
  for (const sink::AnnotatedPart& part : answer_.parts) {
    lines_.push_back({part.where, nullptr});
    for (const sink::AnnotatedLine& line : part.lines) {
      if (line.after_gap) lines_.push_back({"…", nullptr});
      if (line.self > most) {
        most = line.self;
        list_.go_to(static_cast<int>(lines_.size()));
      }
      lines_.push_back({part.instructions ? fmt::format("{:12x}  {}", line.at, line.text) : fmt::format("{:6}  {}", line.at, line.text), &line});
    }
  }
}

void SourceTable::draw(Grid& grid, const Rect& rect, Look& look) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const Style head{.bold = true};
  const bool narrow = rect.width < kNarrow;
  const int text_x = rect.x + (narrow ? 10 : 20);
  grid.put_right(rect.x + 9, rect.y, "self", head);
  if (!narrow) grid.put_right(rect.x + 19, rect.y, "total", head);
  grid.put(text_x, rect.y, fmt::format("{}{}", look.name(function_), instructions_ ? ", instructions" : ""), head, rect.width - text_x);
  if (!said_.empty()) grid.put(rect.x + 1, rect.y + 2, said_, {}, rect.width - 2);
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

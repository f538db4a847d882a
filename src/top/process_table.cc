// SPDX-License-Identifier: Apache-2.0
#include "top/process_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "profile/cpu_time.h"
#include "profile/frame_text.h"

namespace cicada::top {

using Kind = Input::Kind;

namespace {

constexpr uint32_t kNone = 0xffffffff;

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
  // Where a recording says that some are each other's parents, the heaviest of them stands first.
  for (uint32_t i = 0; i < all.size(); ++i) roots.push_back(i);
  std::vector<bool> seen(all.size());
  std::vector<std::pair<uint32_t, int>> left;
  for (const uint32_t root : roots) {
    left.emplace_back(root, 0);
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
  choice.take_everybody();
  if (!line.costs.process.valid()) {
    choice.cgroup = line.key.substr(1);
  } else {
    const profile::Process& process = model.profile().processes()[line.costs.process.value];
    choice.process = WhichProcess{process.pid, process.start_ns};
    if (line.costs.thread.valid()) choice.tid = model.profile().threads()[line.costs.thread.value].tid;
  }
  if (choice != before) return choice;
  choice.take_everybody();  // again: all
  return choice;
}

void ProcessTable::draw(Grid& grid, const Rect& rect, const Model& model, Look& look, const RunState& run_state) {
  rect_ = rect;
  list_.fit(static_cast<int>(lines_.size()), rect.height - 1);
  const profile::ProfileSnapshot& profile = model.profile();
  const double per_value = profile::seconds_per_value(profile, model.event()), seconds = model.recent_seconds(), whole = model.costs().whole();
  const Style head{.bold = true};
  const bool narrow = rect.width < kTwoNumbers;
  const int spark_x = rect.x + 21, state_x = narrow ? rect.x + 10 : spark_x + static_cast<int>(Model::kSparkSeconds) + 1, name_x = state_x + (run_state ? 2 : 0);
  const auto put_head = [&](int end, const std::string& text, bool sorted_by) { grid.put_right(end, rect.y, text + (sorted_by ? " ▾" : ""), head); };
  if (model.has_times()) put_head(rect.x + 9, per_value > 0 ? "CPU %" : fmt::format("in {} s", Model::kRecentSeconds), !by_share_);
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
    if (model.has_times()) grid.put_right(rect.x + 9, y, per_value > 0 ? fmt::format("{:.1f}", seconds > 0 ? 100 * line.costs.recent * per_value / seconds : 0) : short_amount(model, line.costs.recent));
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

}  // namespace cicada::top

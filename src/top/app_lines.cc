// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "profile/cpu_time.h"
#include "profile/frame_text.h"
#include "top/app_state.h"

namespace cicada::top {

using profile::ProfileSnapshot;

std::string App::State::state_text() const {
  if (!page.ended.empty()) return page.ended;
  if (page.moment.paused) return frozen ? "paused, frozen" : "paused";
  return frozen ? "frozen" : "live";
}

void App::State::draw_head(Grid& grid, int y) {
  const ProfileSnapshot& now = model.profile();
  const std::string state = state_text();
  const auto sums = now.totals_of(model.event());
  const std::string rate = rate_text(now.event(model.event()));
  // Rows of folded stacks are added up already.
  const bool are_sums = rate.empty() && now.event(model.event()).unit == profile::Unit::kSamples;
  std::string right = fmt::format("{}{}{} samples", rate, rate.empty() ? "" : " · ", grouped_digits(are_sums ? sums.value : sums.samples));
  if (model.has_times()) right += fmt::format(" · {}{}", now.samples().dropped() != 0 ? "last " : "", duration(model.all_seconds()));
  int x = grid.put(0, y, " cicada ", {.ink = kInk, .ground = 0xffb067, .bold = true});
  x += 1 + grid.put(x + 1, y, page.moment.title.empty() ? title : page.moment.title, {.bold = true}, std::max(0, grid.width() - x - 12));
  const uint32_t colour = page.ended.empty() ? (frozen || page.moment.paused ? 0xffd75f : 0x5fd75f) : 0xd7d7d7;
  if (grid.height() < kTabsLeast) x += 1 + grid.put(x + 1, y, fmt::format("{}{}", source ? "Source" : sandwich ? "Callers" : kViews[static_cast<size_t>(view)], model.choice().is_all() ? "" : " [part]"), {.reverse = true}, std::max(0, grid.width() - x - 3));
  x += 2 + grid.put(x + 2, y, "● " + state, {.ink = colour, .bold = true}, std::max(0, grid.width() - x - 2));
  if (x + 2 + columns_of(right) < grid.width()) grid.put_right(grid.width() - 1, y, right, kSoft);
}

void App::State::draw_tabs(Grid& grid, int y) {
  int x = 1;
  tabs_y = y;
  if (source || sandwich) {
    grid.put(x, y, source ? " Source " : " Callers and callees ", {.bold = true, .reverse = true});
    return;
  }
  for (int i = 0; i < view_count(); ++i) {
    const std::string text = fmt::format(" {} {} ", i + 1, kViews[static_cast<size_t>(i)]);
    if (x + columns_of(text) > grid.width()) break;
    const int begin = x;
    x += grid.put(x, y, text, static_cast<int>(view) == i ? Style{.bold = true, .reverse = true} : Style{});
    tabs.emplace_back(begin, x);
  }
}

std::string App::State::chips(int columns) {
  const Choice& choice = model.choice();
  std::string text;
  const auto add = [&](std::string_view what) { text += fmt::format("[{}] ", what); };
  const uint64_t begin = model.begin_ns(), end = model.end_ns();
  const auto since = [](uint64_t from, uint64_t to) { return from < to ? static_cast<double>(to - from) * 1e-9 : 0; };
  if (choice.span_ns) add(fmt::format("{:.1f} to {:.1f} s", since(begin, choice.span_ns->first), since(begin, choice.span_ns->second)));
  else if (choice.mode == Mode::kWindow) add(fmt::format("last {} s", choice.seconds));
  else if (choice.mode == Mode::kDecay) add(fmt::format("half-life {} s", choice.seconds));
  if (choice.mark_ns && *choice.mark_ns <= begin) add("since d: what came before is no longer kept");
  else if (choice.mark_ns) add(fmt::format("since d: {}, before: {}", duration(since(*choice.mark_ns, end)), duration(since(begin, *choice.mark_ns))));
  if (choice.process) add(fmt::format("process {}", choice.process->pid));
  if (choice.tid) add(fmt::format("thread {}", *choice.tid));
  if (choice.cgroup) add(fmt::format("cgroup {}", *choice.cgroup));
  if (!model.shape().kernel) add("no kernel");
  if (!choice.keep.empty()) add("only /" + choice.keep + "/");
  if (!model.shape().group_by.empty()) add("by " + group_name(model.shape()));
  if (inverted && (view == ViewId::kFlame || view == ViewId::kCallTree)) add("inverted");
  if (!look.searched().empty()) add(fmt::format("/{}/ {}", look.searched(), percent(look.matched_share(model), 1)));
  if (view != ViewId::kFlame || sandwich || !flame.is_zoomed()) return text;
  // The end of the path is what one is in.
  std::string path;
  const int left = columns - columns_of(text);
  size_t from = flame.zoom().size();
  while (from > 0) {
    const std::string longer = " › " + look.name(flame.zoom()[from - 1]) + path;
    if (columns_of(longer) + 3 > left && !path.empty()) break;
    path = longer;
    --from;
  }
  text += (from == 0 ? "all" : "…") + path;
  return text;
}

void App::State::draw_sandwich(Grid& grid, const Rect& rect) {
  const int upper = std::max(1, (rect.height - 1) / 2);
  callers.draw(grid, {rect.x, rect.y, rect.width, upper}, model, look, keys_to_callers);
  callees.draw(grid, {rect.x, rect.y + upper + 1, rect.width, rect.height - upper - 1}, model, look, !keys_to_callers);
  const Boxes* all = callees.boxes();
  const double whole = model.costs().whole(), total = all != nullptr && all->size() != 0 ? (*all)[0].total : 0;
  const Style bar{.reverse = true};
  const std::string deeper = fmt::format("{}{}", callers.goes_on() ? "  ↑ deeper" : "", callees.goes_on() ? "  ↓ deeper" : "");
  std::string text = fmt::format("callers ↑  {} ({}, {})  callees ↓", look.name(function), percent(total, whole), amount(model, total));
  if (total <= 0) text = fmt::format("{}: nothing in what is chosen{}", look.name(function), model.shape().kernel ? "" : "; the kernel's frames are left out (K)");
  grid.fill({rect.x, rect.y + upper, rect.width, 1}, bar);
  const int used = grid.put(rect.x + 1, rect.y + upper, text, bar, rect.width - 2);
  if (used + columns_of(deeper) + 2 < rect.width) grid.put_right(rect.x + rect.width - 1, rect.y + upper, deeper, bar);
}

std::string App::State::explain() {
  const double whole = model.costs().whole();
  const auto box_text = [&](const Boxes* all, uint32_t box) -> std::string {
    if (all == nullptr || all->size() == 0) return "";
    const Boxes::Box& one = (*all)[box];
    const std::string place = one.node == 0 ? "" : place_of(model.tree(), model.node(one.node)), busy = cpus(model, one.total);
    if (one.total <= 0 && one.before <= 0) return fmt::format("{}: nothing in what is chosen", look.name(all->name(box)));
    std::string text = fmt::format("{}: {}, {}", look.name(all->name(box)), percent(one.total, whole), amount(model, one.total));
    if (!busy.empty()) text += ", " + busy;
    if (one.self > 0) text += fmt::format("; itself {}", percent(one.self, whole));
    if (model.before() != nullptr) text += fmt::format("; before {}", percent(one.before, model.before()->whole()));
    if (const std::string_view state = model.state_of(one.node); !state.empty()) text += fmt::format("; mostly {}", state);
    if (!place.empty()) text += "; " + place;
    return text;
  };
  if (source) return fmt::format("{}, of all {}{}", look.name(source_table.function()), amount(model, static_cast<double>(source_table.all())), model.choice().mode == Mode::kDecay ? ", of any age" : "");
  if (sandwich) return box_text(keys_to_callers ? callers.boxes() : callees.boxes(), (keys_to_callers ? callers : callees).picked());
  if (view == ViewId::kFlame) return box_text(flame.boxes(), flame.picked());
  if (view == ViewId::kCallTree) return box_text(tree.boxes(), tree.picked());
  if (view == ViewId::kFunctions) {
    const FunctionLine* line = functions.line();
    if (line == nullptr) return "";
    const profile::CallNode node = model.node(line->node);
    const std::string busy = cpus(model, line->total), place = place_of(model.tree(), node);
    std::string text = fmt::format("{}: self {}, total {}", look.name(model.tree().text(node.name)), amount(model, line->self), amount(model, line->total));
    if (!busy.empty()) text += ", " + busy;
    if (model.before() != nullptr) text += fmt::format("; {} in it, before {}", percent(line->total, whole), percent(line->before, model.before()->whole()));
    return text + (place.empty() ? "" : "; " + place);
  }
  if (const ProcessTable::Line* line = view == ViewId::kProcesses ? processes.picked() : nullptr; line != nullptr && line->costs.process.valid()) {
    const profile::Process& process = model.profile().processes()[line->costs.process.value];
    std::string text(model.profile().text(process.cmdline.valid() ? process.cmdline : process.name));
    if (process.parent_pid != 0) text += fmt::format("; parent {}", process.parent_pid);
    if (process.cgroup.valid()) text += fmt::format("; cgroup {}", model.profile().text(process.cgroup));
    return text;
  }
  return "";
}

void App::State::draw_foot(Grid& grid, int y) {
  if (prompt != 0) {
    grid.put(0, y, fmt::format("{} {}▏", prompt == '/' ? "search:" : prompt == 'k' ? "keep only:" : "write all as (.svg .html .cicada .folded .pb.gz …):", typed), {.bold = true}, grid.width());
    if (!said.empty()) grid.put_right(grid.width() - 1, y, said, {.ink = 0xff5f5f});
    return;
  }
  if (!said.empty()) {
    grid.put(0, y, said, {.bold = true}, grid.width());
    return;
  }
  if (page.moment.answer != read_answer) {
    grid.put(0, y, page.moment.answer, {.ink = 0xff5f5f, .bold = true}, grid.width());
    return;
  }
  static constexpr std::pair<std::string_view, std::string_view> general[] = {{"?", "help"}, {"q", "quit"}, {"Tab", "views"}, {"/", "search"}, {"Space", "freeze"}, {"m", "mode"}, {"g", "group"}, {"d", "compare"}, {"k", "keep"}, {"p", "pause"}};
  const std::string_view enter = source ? "" : sandwich || view == ViewId::kFunctions ? "callers" : view == ViewId::kFlame ? "zoom" : view == ViewId::kCallTree ? "open" : view == ViewId::kProcesses ? "only this" : "";
  int x = 0;
  const auto add = [&](std::string_view key, std::string_view text) {
    if (text.empty() || x + columns_of(key) + columns_of(text) + 1 > grid.width()) return;
    x += grid.put(x, y, key, {.bold = true, .reverse = true});
    x += 1 + grid.put(x, y, fmt::format(" {}", text), kSoft);
  };
  for (int i = 0; i < 3; ++i) add(general[i].first, general[i].second);
  add("Enter", enter);
  if (sandwich || view == ViewId::kFlame || view == ViewId::kCallTree) add("s", sandwich || source ? "" : "callers");
  if (source || sandwich || view <= ViewId::kCallTree) add("a", source ? (source_table.instructions() ? "source" : "instructions") : "source");
  if (!source && !sandwich && (view == ViewId::kFlame || view == ViewId::kCallTree)) add("i", "inverted");
  for (size_t i = 3; i < std::size(general); ++i) add(general[i].first, general[i].second);
}

}  // namespace cicada::top

// SPDX-License-Identifier: Apache-2.0
#include "top/app.h"

#include <utility>

#include "top/app_state.h"

namespace cicada::top {

using profile::ProfileSnapshot;
using Kind = Input::Kind;

namespace {

constexpr std::string_view kDeeper = "↓ deeper";  // stacks go on below the screen

}  // namespace

App::App(std::string title, AppPorts ports) : state_(std::make_unique<State>(std::move(title), std::move(ports))) {}
App::~App() = default;

void App::update(std::shared_ptr<const ProfileSnapshot> now, sink::PageState page) {
  State& state = *state_;
  state.page = std::move(page);
  state.health.note_cpu(state.page.moment.cpu_ns);
  state.has_samples = state.has_samples || now->sample_count() != 0;
  if (state.frozen) state.waiting = std::move(now);
  else state.take(std::move(now));
}

void App::say(std::string text) { state_->said = std::move(text); }

void App::show_source(SourceAnswer answer) { state_->source_table.show(std::move(answer)); }

void App::take_tree(ShapedTree tree) { state_->take_tree(std::move(tree)); }

void App::add_output(std::string_view bytes) { state_->output.add(bytes); }

bool App::press(const Input& input) {
  State& state = *state_;
  if (input.kind == Kind::kResize) return true;
  if (input.kind == Kind::kDrag) {
    if (const auto span = state.strip.drag(input.x, state.model); span && span != state.model.choice().span_ns) state.choose_span(span);
    return true;
  }
  state.strip.release();
  state.said.clear();
  state.read_answer = state.page.moment.answer;
  if (state.prompt != 0 && input.kind != Kind::kClick && input.kind != Kind::kDoubleClick) {
    state.type(input);
    return true;
  }
  if (input.kind == Kind::kInterrupt) return false;
  if (state.help) {
    state.help = state.help_pane.press(input);
    return true;
  }
  switch (input.kind) {
    case Kind::kTab:
    case Kind::kBackTab: {
      const int views = state.view_count(), step = input.kind == Kind::kTab ? 1 : views - 1;
      state.go_to(static_cast<ViewId>((static_cast<int>(state.view) + step) % views));
      return true;
    }
    case Kind::kEscape: state.take_back(); return true;
    case Kind::kClick:
    case Kind::kDoubleClick: {
      const bool twice = input.kind == Kind::kDoubleClick;
      if (state.strip.is_at(input.y)) {
        state.click_strip(input.x, twice);
        return true;
      }
      if (input.y == state.tabs_y) {
        for (size_t i = 0; i < state.tabs.size(); ++i)
          if (input.x >= state.tabs[i].first && input.x < state.tabs[i].second) state.go_to(static_cast<ViewId>(i));
        return true;
      }
      if (state.source) state.source_table.click(input.y);
      else if (state.sandwich) {
        if (state.callers.click(input.x, input.y, twice)) state.keys_to_callers = true;
        else if (state.callees.click(input.x, input.y, twice)) state.keys_to_callers = false;
      } else if (state.view == ViewId::kFlame) state.flame.click(input.x, input.y, twice);
      else if (state.view == ViewId::kFunctions && state.functions.click(input.y, state.model) && twice) state.open_sandwich();
      else if (state.view == ViewId::kCallTree) state.tree.click(input.y, twice);
      else if (state.view == ViewId::kProcesses && state.processes.click(input.y) && twice) state.only_picked_process();
      return true;
    }
    case Kind::kBackspace:
      if (!state.press_in_view(input)) state.take_back();
      return true;
    default: break;
  }
  if (state.press_in_view(input)) return true;
  return input.kind != Kind::kLetter || state.letter(input.letter);
}

void App::draw(Grid& grid, bool colours) {
  State& state = *state_;
  state.look.colours = colours;
  if (grid.width() < 4 || grid.height() < 1) return;
  state.draw_head(grid, 0);
  state.tabs_y = -1;
  state.tabs.clear();
  state.strip.hide();
  int y = 1, bottom = grid.height();
  if (grid.height() >= kTabsLeast) {
    state.draw_tabs(grid, y++);
    if (grid.height() >= kStripLeast) state.strip.draw(grid, y++, state.model);
    if (const std::string chips = state.chips(grid.width() - 2); !chips.empty()) grid.put(1, y++, chips, {.ink = 0xffaf00}, grid.width() - 2);
  }
  if (grid.height() >= 3) state.draw_foot(grid, --bottom);
  if (grid.height() >= kTabsLeast) grid.put(0, --bottom, state.explain(), {}, grid.width());
  const Rect rect{0, y, grid.width(), bottom - y};
  if (rect.height > 0) {
    if (!state.has_samples && state.view != ViewId::kHealth && state.view != ViewId::kOutput) grid.put(1, y + rect.height / 2, state.page.ended.empty() ? "waiting for the first sample …" : "there are no samples", kSoft, grid.width() - 2);
    else if (state.source) state.source_table.draw(grid, rect, state.look);
    else if (state.sandwich) state.draw_sandwich(grid, rect);
    else if (state.view == ViewId::kFlame) state.flame.draw(grid, rect, state.model, state.look, true);
    else if (state.view == ViewId::kFunctions) state.functions.draw(grid, rect, state.model, state.look);
    else if (state.view == ViewId::kCallTree) state.tree.draw(grid, rect, state.model, state.look);
    else if (state.view == ViewId::kProcesses) state.processes.draw(grid, rect, state.model, state.look, state.page.ended.empty() ? state.ports.run_state : nullptr);
    else if (state.view == ViewId::kHealth) state.health.draw(grid, rect, state.model, state.page);
    else state.output.draw(grid, rect);
  }
  const bool is_flame = state.view == ViewId::kFlame && !state.source && !state.sandwich;
  if (is_flame && state.flame.goes_on() && !state.tabs.empty() && state.tabs.back().second + columns_of(kDeeper) + 1 < grid.width()) grid.put_right(grid.width() - 1, state.tabs_y, kDeeper, kSoft);
  if (state.help) state.help_pane.draw(grid);
}

}  // namespace cicada::top

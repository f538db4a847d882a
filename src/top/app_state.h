// SPDX-License-Identifier: Apache-2.0
// What an App is made of: what is shown and picked, what keys do (app_keys.cc), and the lines around a view (app_lines.cc).
// Threads: one.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "top/app.h"
#include "top/flame_pane.h"
#include "top/process_table.h"
#include "top/source_table.h"
#include "top/tables.h"
#include "top/text_panes.h"
#include "top/time_strip.h"

namespace cicada::top {

enum class ViewId : uint8_t { kFlame, kFunctions, kCallTree, kProcesses, kHealth, kOutput };
constexpr std::array<std::string_view, 6> kViews{"Flame graph", "Functions", "Call tree", "Processes", "Health", "Output"};
constexpr int kStripLeast = 14, kTabsLeast = 8;  // rows of a screen that has them

struct App::State {
  State(std::string title_, AppPorts ports_) : title(std::move(title_)), ports(std::move(ports_)) {}

  std::string title;
  AppPorts ports;
  Model model;
  Look look;
  sink::PageState page;
  std::shared_ptr<const profile::ProfileSnapshot> waiting;  // what came while the view stands still
  bool frozen = false, inverted = false, sandwich = false, source = false, help = false, has_samples = false;
  Order order = Order::kHeavy;
  ViewId view = ViewId::kFlame;
  std::string function;  // of the sandwich
  Shape wanted;                // what the tree shall be made of; made beside the view, which shows the one there is meanwhile
  bool making = false;
  std::string made_what;       // said when it is there
  FlamePane flame, callers{true}, callees;
  bool keys_to_callers = false;
  FunctionTable functions;
  CallTreeTable tree;
  ProcessTable processes;
  SourceTable source_table;
  std::string said;       // an answer, until the next key
  char prompt = 0;        // '/', 'k' or 'w': what is typed
  std::string typed;
  OutputPane output;
  HealthPane health;
  HelpPane help_pane;
  std::string read_answer;  // of the recorder, that was seen
  std::vector<std::pair<int, int>> tabs;  // the columns of each, as they were drawn
  int tabs_y = -1;
  TimeStrip strip;

  // --- what is shown, after a change
  Boxes boxes(Towards towards) { return Boxes(model.tree(), model.costs(), model.before(), towards, order); }
  // `grown`: the same is shown, after an update.
  void refresh(bool grown = false);
  void show_flame(bool grown);
  void show_tree(bool grown);
  void show_sandwich(bool grown);
  void take(std::shared_ptr<const profile::ProfileSnapshot> now);
  void choose(Choice choice);
  void want(Shape shape, std::string what);
  void ask_tree();
  void take_tree(ShapedTree tree);

  // --- what is picked
  std::string picked_function();
  // From the root to what is picked; of a function alone its name.
  Path picked_stack();
  void copy();
  void open_sandwich();
  void ask_source(const std::string& of, bool instructions);
  // Of what is picked; in the source its instructions, and the source again.
  void show_source_of_picked();
  void go_to(ViewId to);
  static std::string group_name(const Shape& shape);
  void next_group();
  void toggle_kernel();
  void next_event();
  void compare();
  void next_mode();
  void next_seconds();
  // Moves the begin or the end of the span by a part of what there is.
  void move_span(bool begin, int step);
  void choose_span(std::optional<TimeStrip::Span> span);
  void click_strip(int x, bool twice);
  void only_picked_process();
  // One thing at a time, what was done last first. False: there is nothing.
  bool take_back();
  void control(std::string_view line);
  void write();
  void find_match(bool forward);

  // --- keys
  void type(const Input& input);
  bool press_in_view(const Input& input);
  bool letter(char32_t letter);

  // --- the screen
  std::string state_text() const;
  void draw_head(Grid& grid, int y);
  void draw_tabs(Grid& grid, int y);
  int view_count() const { return output.has_any() || view == ViewId::kOutput ? 6 : 5; }
  // What differs from what one sees at first: nobody shall wonder where the rest is.
  std::string chips(int columns);
  void draw_sandwich(Grid& grid, const Rect& rect);
  // What is picked, in words.
  std::string explain();
  void draw_foot(Grid& grid, int y);
};

}  // namespace cicada::top

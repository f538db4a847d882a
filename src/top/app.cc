// SPDX-License-Identifier: Apache-2.0
#include "top/app.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attach/viewer_socket.h"
#include "base/base64.h"
#include "base/clean_text.h"
#include "base/number_text.h"
#include "profile/cpu_time.h"
#include "profile/frame_text.h"
#include "top/flame_pane.h"
#include "top/tables.h"
#include "top/text_panes.h"
#include "top/time_strip.h"

namespace cicada::top {

using profile::GroupBy;
using profile::ProfileSnapshot;
using Kind = Input::Kind;

namespace {

enum class ViewId : uint8_t { kFlame, kFunctions, kCallTree, kProcesses, kHealth, kOutput };
constexpr std::array<std::string_view, 6> kViews{"Flame graph", "Functions", "Call tree", "Processes", "Health", "Output"};
constexpr int kStripLeast = 14, kTabsLeast = 8;  // rows of a screen that has them
constexpr size_t kMaxTyped = 200, kMaxCopied = 64 << 10;
constexpr std::string_view kNoTimes = "its samples have no times";
constexpr unsigned kSeconds[] = {2, 5, 10, 30, 60, 300};

struct Grouping {
  std::string_view name;
  std::vector<GroupBy> by;
};
const std::array<Grouping, 9>& groupings() {
  static const std::array<Grouping, 9> all{{{"nothing", {}},
                                            {"program", {GroupBy::kProgram}},
                                            {"process", {GroupBy::kProcess}},
                                            {"process, thread", {GroupBy::kProcess, GroupBy::kThread}},
                                            {"CPU", {GroupBy::kCpu}},
                                            {"cgroup", {GroupBy::kCgroup}},
                                            {"user", {GroupBy::kUser}},
                                            {"image", {GroupBy::kImage}},
                                            {"state", {GroupBy::kState}}}};
  return all;
}

}  // namespace

struct App::State {
  State(std::string title_, AppPorts ports_) : title(std::move(title_)), ports(std::move(ports_)) {}

  std::string title;
  AppPorts ports;
  Model model;
  Look look;
  sink::PageState page;
  std::shared_ptr<const ProfileSnapshot> waiting;  // what came while the view stands still
  bool frozen = false, inverted = false, sandwich = false, source = false, help = false, has_samples = false;
  Order order = Order::kHeavy;
  ViewId view = ViewId::kFlame;
  std::string function;  // of the sandwich
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
  void refresh(bool grown = false) {
    if (sandwich) show_sandwich(grown);
    else if (view == ViewId::kFlame) show_flame(grown);
    else if (view == ViewId::kFunctions) functions.show(model);
    else if (view == ViewId::kCallTree) show_tree(grown);
    else if (view == ViewId::kProcesses) processes.show(model);
  }
  void show_flame(bool grown) {
    Boxes all = boxes(inverted ? Towards::kCallers : Towards::kCallees);
    if (inverted) all.begin_with_all();
    else all.begin_with_root();
    flame.show(std::move(all), grown);
  }
  void show_tree(bool grown) {
    Boxes all = boxes(inverted ? Towards::kCallers : Towards::kCallees);
    if (inverted) all.begin_with_all();
    else all.begin_with_root();
    tree.show(std::move(all), has_samples, grown);
  }
  void show_sandwich(bool grown) {
    profile::StringId name;
    for (uint32_t i = 0; i < model.tree().strings.size() && !name.valid(); ++i)
      if (model.tree().text(profile::StringId(i)) == function) name = profile::StringId(i);
    const std::vector<uint32_t> nodes = name.valid() ? model.outermost_nodes(name) : std::vector<uint32_t>();
    Boxes up = boxes(Towards::kCallers), down = boxes(Towards::kCallees);
    up.begin_with(nodes);
    down.begin_with(nodes);
    callers.show(std::move(up), grown);
    callees.show(std::move(down), grown);
  }
  void take(std::shared_ptr<const ProfileSnapshot> now) {
    model.update(std::move(now));
    look.update(model);
    refresh(true);
  }
  void choose(Choice choice) {
    if (const Result<void> done = model.choose(std::move(choice)); !done) said = done.error().message();
    refresh();
  }

  // --- what is picked
  std::string picked_function() {
    const auto of = [](const FlamePane& pane) {
      const Boxes* all = pane.boxes();
      return all == nullptr || all->size() == 0 || (*all)[pane.picked()].node == 0 ? std::string() : std::string(all->name(pane.picked()));
    };
    if (sandwich) return of(keys_to_callers ? callers : callees);
    switch (view) {
      case ViewId::kFlame: return of(flame);
      case ViewId::kFunctions: {
        const profile::StringId name = functions.picked(model);
        return name.valid() ? std::string(model.tree().text(name)) : "";
      }
      case ViewId::kCallTree: return tree.boxes() == nullptr || tree.picked() == 0 ? "" : std::string(tree.boxes()->name(tree.picked()));
      default: return "";
    }
  }
  // From the root to what is picked; of a function alone its name.
  Path picked_stack() {
    if (sandwich) {
      Path path = path_of(keys_to_callers ? *callers.boxes() : *callees.boxes(), (keys_to_callers ? callers : callees).picked());
      if (keys_to_callers) std::reverse(path.begin(), path.end());
      if (keys_to_callers) path.push_back(function);
      else path.insert(path.begin(), function);
      return path;
    }
    if (view == ViewId::kFlame && flame.boxes() != nullptr) {
      Path path = path_of(*flame.boxes(), flame.picked());
      if (inverted) std::reverse(path.begin(), path.end());
      return path;
    }
    if (view == ViewId::kCallTree && tree.boxes() != nullptr) {
      Path path = path_of(*tree.boxes(), tree.picked());
      if (inverted) std::reverse(path.begin(), path.end());
      return path;
    }
    const std::string name = picked_function();
    return name.empty() ? Path() : Path{name};
  }
  void copy() {
    const Path path = picked_stack();
    std::string text;
    for (const std::string& name : path) text += clean_text(name) + "\n";
    if (path.empty()) said = "nothing is picked";
    else if (text.size() > kMaxCopied) said = "the stack is too long for the terminal's clipboard";
    else if (ports.send) {
      ports.send(fmt::format("\x1b]52;c;{}\a", base64(text)));
      said = fmt::format("copied: {} frame{}", path.size(), path.size() == 1 ? "" : "s");
    }
  }
  void open_sandwich() {
    if (const std::string name = picked_function(); !name.empty()) {
      function = name;
      sandwich = true;
      keys_to_callers = false;
      callers.reset();
      callees.reset();
      show_sandwich(false);
    } else {
      said = "pick a function first";
    }
  }
  void ask_source(const std::string& of, bool instructions) {
    if (!ports.read_source || of.empty()) {
      said = of.empty() ? "pick a function first" : "there is no source here";
      return;
    }
    source = true;
    source_table.ask(of, instructions);
    ports.read_source({source_table.number(), model.shared_profile(), model.event(), of, instructions});
  }
  // Of what is picked; in the source its instructions, and the source again.
  void show_source_of_picked() {
    if (source) ask_source(source_table.function(), !source_table.instructions());
    else ask_source(picked_function(), false);
  }
  void go_to(ViewId to) {
    sandwich = source = false;
    view = to;
    refresh();
  }
  std::string group_name() {
    for (const Grouping& one : groupings())
      if (one.by == model.groups()) return std::string(one.name);
    return "";
  }
  void next_group() {
    const auto& all = groupings();
    size_t at = 0;
    while (at < all.size() && all[at].by != model.groups()) ++at;
    model.group_by(all[(at + 1) % all.size()].by);
    look.update(model);
    flame.reset();
    refresh();
    said = "grouped by " + group_name();
  }
  void next_event() {
    const std::vector<profile::EventId> events = profile::sampled_events(model.profile());
    const auto at = std::find(events.begin(), events.end(), model.event());
    const profile::EventId next = at == events.end() || at + 1 == events.end() ? events[0] : at[1];
    if (next != model.event()) {
      strip.forget();
      model.show_event(next);
      look.update(model);
      refresh();
    }
    said = (events.size() < 2 ? "the only event: " : "event: ") + model.profile().event(next).name;
  }
  void compare() {
    Choice choice = model.choice();
    if (choice.mark_ns) {
      choice.mark_ns.reset();
      said = "no longer compared";
    } else if (!page.ended.empty()) {
      said = "nothing comes any more that could be compared";
    } else if (!model.has_times()) {
      said = kNoTimes;
    } else {
      choice.mark_ns = model.end_ns();
      choice.span_ns.reset();
      choice.mode = Mode::kAll;
      said = "compared with what was until now: red is more, blue is less";
    }
    choose(choice);
  }
  void next_mode() {
    Choice choice = model.choice();
    if (!model.has_times()) {
      said = kNoTimes;
      return;
    }
    choice.mode = static_cast<Mode>((static_cast<unsigned>(choice.mode) + 1) % 3);
    choice.span_ns.reset();
    choice.mark_ns.reset();
    choose(choice);
  }
  void next_seconds() {
    Choice choice = model.choice();
    const auto* next = std::upper_bound(std::begin(kSeconds), std::end(kSeconds), choice.seconds);
    if (choice.mode == Mode::kAll) return next_mode();
    choice.seconds = next == std::end(kSeconds) ? kSeconds[0] : *next;
    choose(choice);
  }
  // Moves the begin or the end of the span by a part of what there is.
  void move_span(bool begin, int step) {
    const uint64_t first = model.begin_ns(), end = model.end_ns();
    if (!model.has_times()) said = kNoTimes;
    if (end <= first || !model.has_times()) return;
    auto [from, to] = model.choice().span_ns.value_or(std::pair(first, end));
    const auto by = static_cast<int64_t>(std::max<uint64_t>((end - first) / 50, 1'000'000)) * step;
    const auto moved = [&](uint64_t at) { return static_cast<uint64_t>(std::clamp<int64_t>(static_cast<int64_t>(at) + by, static_cast<int64_t>(first), static_cast<int64_t>(end))); };
    if (begin) from = std::min(moved(from), to - std::min<uint64_t>(to, 1'000'000));
    else to = std::max(moved(to), from + 1'000'000);
    choose_span(std::pair(from, to));
  }
  void choose_span(std::optional<TimeStrip::Span> span) {
    Choice choice = model.choice();
    choice.span_ns = span;
    choice.mark_ns.reset();
    choose(choice);
  }
  void click_strip(int x, bool twice) {
    if (!model.has_times()) said = kNoTimes;
    else if (twice) choose_span(std::nullopt);
    else choose_span(strip.click(x, model));
  }
  void only_picked_process() {
    if (const ProcessTable::Line* line = processes.picked()) choose(ProcessTable::only(model, *line));
  }
  // One thing at a time, what was done last first. False: there is nothing.
  bool take_back() {
    Choice choice = model.choice();
    if (source) source = false;
    else if (sandwich) sandwich = false;
    else if (!look.searched().empty()) static_cast<void>(look.search(""));
    else if (view == ViewId::kFlame && flame.is_zoomed()) flame.reset();
    else if (choice.span_ns) choice.span_ns.reset();
    else if (choice.mark_ns) choice.mark_ns.reset();
    else if (!choice.keep.empty()) choice.keep.clear();
    else if (choice.process || choice.tid || choice.cgroup) {
      choice.process.reset();
      choice.tid.reset();
      choice.cgroup.reset();
    } else if (inverted) inverted = false;
    else return false;
    choose(choice);
    return true;
  }
  void control(std::string_view line) {
    if (!ports.control || !page.ended.empty()) {
      said = "nothing is being recorded";
      return;
    }
    if (const Result<void> done = ports.control(line); !done) said = done.error().message();
  }
  void write() {
    const std::string extension = typed.starts_with('.') ? typed : "." + typed;
    ports.write(extension, model.shared_profile(), model.event());
    said = "writing …";
  }
  void find_match(bool forward) {
    if (look.searched().empty()) {
      said = "search first: /";
      return;
    }
    bool found = false;
    if (sandwich) found = (keys_to_callers ? callers : callees).find_match(look, forward);
    else if (view == ViewId::kFlame) found = flame.find_match(look, forward);
    else if (view == ViewId::kFunctions) found = functions.find_match(model, look, forward);
    else if (view == ViewId::kCallTree) found = tree.find_match(look, forward);
    else if (view == ViewId::kProcesses) found = processes.find_match(look, forward);
    if (!found) said = "no match here";
  }

  // --- keys
  void type(const Input& input) {
    if (input.kind == Kind::kEscape || input.kind == Kind::kInterrupt) {
      if (prompt == '/') static_cast<void>(look.search(""));
      prompt = 0;
      return;
    }
    if (input.kind == Kind::kEnter) {  // what is no expression can be mended
      if (prompt == 'k') {
        Choice choice = model.choice();
        choice.keep = typed;
        choose(choice);
      } else if (prompt == 'w') {
        write();
      } else if (const Result<void> done = look.search(typed); !done) {
        said = done.error().message();
      }
      if (said.empty() || prompt == 'w') prompt = 0;
      return;
    }
    if (input.kind == Kind::kBackspace) {
      while (!typed.empty() && (static_cast<uint8_t>(typed.back()) & 0xc0) == 0x80) typed.pop_back();
      if (!typed.empty()) typed.pop_back();
    } else if (input.kind == Kind::kLetter && input.letter >= U' ' && typed.size() < kMaxTyped) {
      append_utf8(typed, input.letter);
    }
    if (prompt == '/' && input.kind != Kind::kEnter)
      if (const Result<void> done = look.search(typed); !done) said = done.error().message();
  }
  bool press_in_view(const Input& input) {
    if (source) return source_table.press(input);
    if (sandwich) {
      FlamePane& pane = keys_to_callers ? callers : callees;
      // From the function on into the other half.
      if ((input.kind == Kind::kUp && !keys_to_callers && pane.picked() == pane.zoomed()) || (input.kind == Kind::kDown && keys_to_callers && pane.picked() == pane.zoomed())) {
        keys_to_callers = !keys_to_callers;
        return true;
      }
      if (input.kind == Kind::kEnter) {
        open_sandwich();
        return true;
      }
      return pane.press(input);
    }
    switch (view) {
      case ViewId::kFlame: return flame.press(input);
      case ViewId::kFunctions:
        if (input.kind == Kind::kEnter) {
          open_sandwich();
          return true;
        }
        return functions.press(input, model);
      case ViewId::kCallTree: return tree.press(input);
      case ViewId::kProcesses:
        if (input.kind == Kind::kEnter) {
          only_picked_process();
          return true;
        }
        return processes.press(input, model);
      case ViewId::kHealth: return health.press(input);
      default: return output.press(input);
    }
  }
  bool letter(char32_t letter) {
    switch (letter) {
      case U'q': return false;
      case U'?': help = true; break;
      case U'/': prompt = '/'; typed = look.searched(); break;
      case U'k': prompt = 'k'; typed = model.choice().keep; break;
      case U'w':
        if (!ports.write) said = "nothing can be written from here";
        else prompt = 'w', typed = ".svg";
        break;
      case U'n': find_match(true); break;
      case U'N': find_match(false); break;
      case U's':
        if (!source) open_sandwich();
        break;
      case U'a': show_source_of_picked(); break;
      case U'i':
        if (sandwich || (view != ViewId::kFlame && view != ViewId::kCallTree)) break;
        inverted = !inverted;
        flame.reset();
        refresh();
        break;
      case U'g': next_group(); break;
      case U'd': compare(); break;
      case U'm': next_mode(); break;
      case U'M': next_seconds(); break;
      case U'[': move_span(true, -1); break;
      case U']': move_span(true, 1); break;
      case U'{': move_span(false, -1); break;
      case U'}': move_span(false, 1); break;
      case U'e': next_event(); break;
      case U'l':
        look.set_full_names(!look.full_names());
        break;
      case U'x': look.own_code = !look.own_code; break;
      case U'y': copy(); break;
      case U't':
        if (view == ViewId::kProcesses && !sandwich) processes.arrange_next(model);
        break;
      case U'K':
        model.show_kernel(!model.shows_kernel());
        look.update(model);
        refresh();
        break;
      case U'p': control(page.moment.paused ? attach::kResume : attach::kPause); break;
      case U'o':
        order = order == Order::kHeavy ? Order::kName : Order::kHeavy;
        said = order == Order::kHeavy ? "largest first" : "by name";
        refresh();
        break;
      case U' ':
        frozen = !frozen;
        if (!frozen && waiting) take(std::exchange(waiting, nullptr));
        break;
      default:
        if (letter >= U'1' && letter < U'1' + static_cast<char32_t>(kViews.size())) go_to(static_cast<ViewId>(letter - U'1'));
    }
    return true;
  }

  // --- the screen
  std::string state_text() const {
    if (!page.ended.empty()) return page.ended;
    if (page.moment.paused) return frozen ? "paused, frozen" : "paused";
    return frozen ? "frozen" : "live";
  }
  void draw_head(Grid& grid, int y) {
    const ProfileSnapshot& now = model.profile();
    const std::string state = state_text();
    const auto sums = now.totals_of(model.event());
    const std::string kept = now.samples().dropped() != 0 ? fmt::format("last {}", duration(model.all_seconds())) : duration(model.all_seconds());
    const std::string right = fmt::format("{} · {} samples · {}", rate_text(now.event(model.event())), grouped_digits(sums.samples), kept);
    int x = grid.put(0, y, " cicada ", {.ink = kInk, .ground = 0xffb067, .bold = true});
    x += 1 + grid.put(x + 1, y, page.moment.title.empty() ? title : page.moment.title, {.bold = true}, std::max(0, grid.width() - x - 12));
    const uint32_t colour = page.ended.empty() ? (frozen || page.moment.paused ? 0xffd75f : 0x5fd75f) : 0xd7d7d7;
    if (grid.height() < kTabsLeast) x += 1 + grid.put(x + 1, y, fmt::format("{}{}", source ? "Source" : sandwich ? "Callers" : kViews[static_cast<size_t>(view)], model.choice().is_all() ? "" : " [part]"), {.reverse = true}, std::max(0, grid.width() - x - 3));
    x += 2 + grid.put(x + 2, y, "● " + state, {.ink = colour, .bold = true}, std::max(0, grid.width() - x - 2));
    if (x + 2 + columns_of(right) < grid.width()) grid.put_right(grid.width() - 1, y, right, kSoft);
  }
  void draw_tabs(Grid& grid, int y) {
    int x = 1;
    tabs.clear();
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
  int view_count() const { return output.has_any() || view == ViewId::kOutput ? 6 : 5; }
  // What differs from what one sees at first: nobody shall wonder where the rest is.
  std::string chips(int columns) {
    const Choice& choice = model.choice();
    std::string text;
    const auto add = [&](std::string_view what) { text += fmt::format("[{}] ", what); };
    const uint64_t begin = model.begin_ns(), end = model.end_ns();
    const auto since = [](uint64_t from, uint64_t to) { return from < to ? static_cast<double>(to - from) * 1e-9 : 0; };
    if (choice.span_ns) add(fmt::format("{:.1f} to {:.1f} s", since(begin, choice.span_ns->first), since(begin, choice.span_ns->second)));
    else if (choice.mode == Mode::kWindow) add(fmt::format("last {} s", choice.seconds));
    else if (choice.mode == Mode::kDecay) add(fmt::format("half-life {} s", choice.seconds));
    if (choice.mark_ns) add(fmt::format("since d: {}, before: {}", duration(since(*choice.mark_ns, end)), duration(since(begin, *choice.mark_ns))));
    if (choice.process) add(fmt::format("process {}", choice.process->pid));
    if (choice.tid) add(fmt::format("thread {}", *choice.tid));
    if (choice.cgroup) add(fmt::format("cgroup {}", *choice.cgroup));
    if (!model.shows_kernel()) add("no kernel");
    if (!choice.keep.empty()) add("only /" + choice.keep + "/");
    if (!model.groups().empty()) add("by " + group_name());
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
  void draw_sandwich(Grid& grid, const Rect& rect) {
    const int upper = std::max(1, (rect.height - 1) / 2);
    callers.draw(grid, {rect.x, rect.y, rect.width, upper}, model, look, keys_to_callers);
    const Boxes* all = callees.boxes();
    const double whole = model.costs().whole(), total = all != nullptr && all->size() != 0 ? (*all)[0].total : 0;
    grid.fill({rect.x, rect.y + upper, rect.width, 1}, {.reverse = true});
    grid.put(rect.x + 1, rect.y + upper, fmt::format("callers ↑  {} ({}, {})  callees ↓", look.name(function), percent(total, whole), amount(model, total)), {.reverse = true}, rect.width - 2);
    callees.draw(grid, {rect.x, rect.y + upper + 1, rect.width, rect.height - upper - 1}, model, look, !keys_to_callers);
  }
  // What is picked, in words.
  std::string explain() {
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
    if (source) return fmt::format("{}, of all {}", look.name(source_table.function()), amount(model, model.costs().whole()));
    if (sandwich) return box_text(keys_to_callers ? callers.boxes() : callees.boxes(), (keys_to_callers ? callers : callees).picked());
    if (view == ViewId::kFlame) return box_text(flame.boxes(), flame.picked());
    if (view == ViewId::kCallTree) return box_text(tree.boxes(), tree.picked());
    if (view == ViewId::kFunctions) {
      const FunctionLine* line = functions.line();
      if (line == nullptr) return "";
      const profile::CallNode node = model.node(line->node);
      const std::string busy = cpus(model, line->total), place = place_of(model.tree(), node);
      return fmt::format("{}: self {}, total {}{}{}{}{}", look.name(model.tree().text(node.name)), amount(model, line->self), amount(model, line->total), busy.empty() ? "" : ", ", busy, place.empty() ? "" : "; ", place);
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
  void draw_foot(Grid& grid, int y) {
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
    if (!sandwich && (view == ViewId::kFlame || view == ViewId::kCallTree)) add("i", "inverted");
    for (size_t i = 3; i < std::size(general); ++i) add(general[i].first, general[i].second);
  }
};

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
  if (state.help) state.help_pane.draw(grid);
}

}  // namespace cicada::top

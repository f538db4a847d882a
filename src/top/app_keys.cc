// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attach/viewer_socket.h"
#include "base/base64.h"
#include "base/clean_text.h"
#include "profile/frame_text.h"
#include "top/app_state.h"

namespace cicada::top {

using profile::GroupBy;
using profile::ProfileSnapshot;
using Kind = Input::Kind;

namespace {

constexpr size_t kMaxTyped = 200, kMaxCopied = 64 << 10;
constexpr std::string_view kNoTimes = "its samples have no times";
constexpr unsigned kSeconds[] = {2, 5, 10, 30, 60, 300};

struct Grouping {
  std::string_view name;
  std::vector<GroupBy> by;
};
const std::array<Grouping, 10>& groupings() {
  static const std::array<Grouping, 10> all{{{"nothing", {}},
                                            {"program", {GroupBy::kProgram}},
                                            {"process", {GroupBy::kProcess}},
                                            {"process, thread", {GroupBy::kProcess, GroupBy::kThread}},
                                            {"CPU", {GroupBy::kCpu}},
                                            {"cgroup", {GroupBy::kCgroup}},
                                            {"user", {GroupBy::kUser}},
                                            {"image", {GroupBy::kImage}},
                                            {"state", {GroupBy::kState}},
                                            {"group", {GroupBy::kGroup}}}};
  return all;
}

}  // namespace

void App::State::refresh(bool grown) {
  if (sandwich) show_sandwich(grown);
  else if (view == ViewId::kFlame) show_flame(grown);
  else if (view == ViewId::kFunctions) functions.show(model);
  else if (view == ViewId::kCallTree) show_tree(grown);
  else if (view == ViewId::kProcesses) processes.show(model);
}

void App::State::show_flame(bool grown) {
  Boxes all = boxes(inverted ? Towards::kCallers : Towards::kCallees);
  if (inverted) all.begin_with_all();
  else all.begin_with_root();
  flame.show(std::move(all), grown);
}

void App::State::show_tree(bool grown) {
  Boxes all = boxes(inverted ? Towards::kCallers : Towards::kCallees);
  if (inverted) all.begin_with_all();
  else all.begin_with_root();
  tree.show(std::move(all), has_samples, grown);
}

void App::State::show_sandwich(bool grown) {
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

void App::State::take(std::shared_ptr<const ProfileSnapshot> now) {
  const Shape before = model.shape();
  model.update(std::move(now));
  if (model.shape() != before || wanted.event.value >= model.profile().header.events.size()) wanted.event = model.event();  // another recording
  look.update(model);
  refresh(true);
  if (source && !source_table.is_asking()) ask_source(source_table.function(), source_table.instructions());
}

void App::State::want(Shape shape, std::string what) {
  wanted = std::move(shape);
  made_what = std::move(what);
  if (wanted == model.shape()) {
    said = made_what;
    return;
  }
  said = made_what + " …";
  ask_tree();
}

void App::State::ask_tree() {
  if (making) return;
  making = true;
  if (ports.make_tree) ports.make_tree(wanted, model.shared_profile());
  else take_tree(make_tree(wanted, model.profile()));
}

void App::State::take_tree(ShapedTree made) {
  making = false;
  if (wanted == model.shape()) return;  // something else was wanted meanwhile, and is there
  if (made.shape != wanted) return ask_tree();
  if (made.shape.event != model.event()) strip.forget();
  if (made.shape.group_by != model.shape().group_by) flame.reset();
  model.take_tree(std::move(made));
  look.update(model);
  refresh();
  if (prompt == 0) said = made_what;
}

void App::State::choose(Choice choice) {
  if (const Result<void> done = model.choose(std::move(choice)); !done) said = done.error().message();
  refresh();
}

std::string App::State::picked_function() {
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

Path App::State::picked_stack() {
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

void App::State::copy() {
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

void App::State::open_sandwich() {
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

void App::State::ask_source(const std::string& of, bool instructions) {
  if (!ports.read_source || of.empty()) {
    said = of.empty() ? "pick a function first" : "there is no source here";
    return;
  }
  source = true;
  source_table.ask(of, instructions);
  ports.read_source({source_table.number(), model.shared_profile(), model.event(), of, instructions, model.counted_rows()});
}

void App::State::show_source_of_picked() {
  if (source) ask_source(source_table.function(), !source_table.instructions());
  else ask_source(picked_function(), false);
}

void App::State::go_to(ViewId to) {
  sandwich = source = false;
  view = to;
  refresh();
}

std::string App::State::group_name(const Shape& shape) {
  for (const Grouping& one : groupings())
    if (one.by == shape.group_by) return std::string(one.name);
  return "";
}

void App::State::next_group() {
  const auto& all = groupings();
  size_t at = 0;
  while (at < all.size() && all[at].by != wanted.group_by) ++at;
  Shape shape = wanted;
  shape.group_by = all[(at + 1) % all.size()].by;
  const std::string name = group_name(shape);
  want(std::move(shape), "grouped by " + name);
}

void App::State::toggle_kernel() {
  Shape shape = wanted;
  shape.kernel = !shape.kernel;
  want(std::move(shape), wanted.kernel ? "without the kernel's frames" : "with the kernel's frames");
}

void App::State::next_event() {
  const std::vector<profile::EventId> events = profile::sampled_events(model.profile());
  const auto at = std::find(events.begin(), events.end(), wanted.event);
  const profile::EventId next = at == events.end() || at + 1 == events.end() ? events[0] : at[1];
  const std::string& name = model.profile().event(next).name;
  if (next == wanted.event) {
    said = (model.profile().header.events.size() < 2 ? "the only event: " : "the only event with samples: ") + name;
    return;
  }
  Shape shape = wanted;
  shape.event = next;
  want(std::move(shape), "event: " + name);
}

void App::State::compare() {
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

void App::State::next_mode() {
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

void App::State::next_seconds() {
  Choice choice = model.choice();
  const auto* next = std::upper_bound(std::begin(kSeconds), std::end(kSeconds), choice.seconds);
  if (choice.mode == Mode::kAll) return next_mode();
  choice.seconds = next == std::end(kSeconds) ? kSeconds[0] : *next;
  choose(choice);
}

void App::State::move_span(bool begin, int step) {
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

void App::State::choose_span(std::optional<TimeStrip::Span> span) {
  Choice choice = model.choice();
  choice.span_ns = span;
  choice.mark_ns.reset();
  choose(choice);
}

void App::State::click_strip(int x, bool twice) {
  if (!model.has_times()) said = kNoTimes;
  else if (twice) choose_span(std::nullopt);
  else choose_span(strip.click(x, model));
}

void App::State::only_picked_process() {
  if (const ProcessTable::Line* line = processes.picked()) choose(ProcessTable::only(model, *line));
}

bool App::State::take_back() {
  Choice choice = model.choice();
  if (source) source = false;
  else if (sandwich) sandwich = false;
  else if (!look.searched().empty()) static_cast<void>(look.search(""));
  else if (view == ViewId::kFlame && flame.is_zoomed()) flame.reset();
  else if (choice.span_ns) choice.span_ns.reset();
  else if (choice.mark_ns) choice.mark_ns.reset();
  else if (!choice.keep.empty()) choice.keep.clear();
  else if (!choice.is_of_everybody()) choice.take_everybody();
  else if (inverted) inverted = false;
  else return false;
  if (choice == model.choice()) refresh();
  else choose(std::move(choice));
  return true;
}

void App::State::control(std::string_view line) {
  if (!ports.control || !page.ended.empty()) {
    said = "nothing is being recorded";
    return;
  }
  if (const Result<void> done = ports.control(line); !done) said = done.error().message();
}

void App::State::write() {
  const std::string extension = typed.starts_with('.') ? typed : "." + typed;
  ports.write(extension, model.shared_profile(), model.event());
  said = "writing …";
}

void App::State::find_match(bool forward) {
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

void App::State::type(const Input& input) {
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

bool App::State::press_in_view(const Input& input) {
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

bool App::State::letter(char32_t letter) {
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
      if (source || sandwich || (view != ViewId::kFlame && view != ViewId::kCallTree)) break;
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
      toggle_kernel();
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

}  // namespace cicada::top

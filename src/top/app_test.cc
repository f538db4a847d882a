// SPDX-License-Identifier: Apache-2.0
#include "top/app.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>

#include "profile/growing_profile_for_test.h"
#include "profile/synthetic_profile_for_test.h"

namespace cicada::top {
namespace {

Input key(char32_t letter) { return {.letter = letter}; }
Input key(Input::Kind kind) { return {.kind = kind}; }

class AppOnAScreen : public testing::Test {
 protected:
  AppOnAScreen() {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    show(profile::make_synthetic_profile({.samples = 5000, .depth = 12}));
  }
  void show(const profile::Profile& profile, std::string ended = "") { app_.update(std::make_shared<const profile::ProfileSnapshot>(profile), {.ended = std::move(ended), .controls = true}); }
  std::string screen(int width = 80, int height = 24, bool colours = false) {
    Grid grid(width, height);
    app_.draw(grid, colours);
    if (std::getenv("SHOW") != nullptr) std::cout << grid.text() << std::string(static_cast<size_t>(width), '=') << "\n";
    return grid.text();
  }
  bool press(char32_t letter) { return app_.press(key(letter)); }
  bool press(Input::Kind kind) { return app_.press(key(kind)); }
  void type(std::string_view text) {
    for (const char letter : text) press(static_cast<char32_t>(letter));
  }
  std::vector<std::string> said_;
  std::string sent_;
  std::vector<SourceQuestion> asked_;
  std::vector<std::string> written_;
  App app_{"a program", {.control = [this](std::string_view line) { return said_.emplace_back(line), Result<void>(); }, .read_source = [this](SourceQuestion question) { asked_.push_back(std::move(question)); }, .write = [this](std::string extension, std::shared_ptr<const profile::ProfileSnapshot>, profile::EventId) { written_.push_back(std::move(extension)); }, .run_state = [](Pid, uint64_t, Tid tid) { return tid % 2 == 0 ? 'R' : 'D'; }, .send = [this](std::string_view sequence) { sent_ = sequence; }}};
};

bool has(const std::string& screen, std::string_view text) { return screen.find(text) != std::string::npos; }

TEST_F(AppOnAScreen, ShowsEachView) {
  const std::pair<char32_t, std::vector<std::string>> views[] = {{U'1', {"all", "function_0", "all: 100.0 %, 50.5 s"}},
                                                                {U'2', {"self ▾", "4.5 %     5.0 %", "function_190", "file_10:10"}},
                                                                {U'3', {"100.0 %", "▾ all", "▾ function_0"}},
                                                                {U'4', {"CPU %", "process_2 (1200)", "/system.slice/0"}},
                                                                {U'5', {"complete stacks", "100 % of 5,000 samples"}},
                                                                {U'6', {"nothing was printed"}}};
  for (const auto& [view, texts] : views) {
    EXPECT_TRUE(press(view));
    for (const std::string& text : texts) EXPECT_TRUE(has(screen(), text)) << text << "\n" << screen();
  }
  press(Input::Kind::kTab);
  EXPECT_TRUE(has(screen(), "all: 100.0 %"));
  press(U'?');
  EXPECT_TRUE(has(screen(), "callers and callees of what is picked"));
  press(U'q');
  EXPECT_FALSE(has(screen(), "callers and callees of what is picked"));
  EXPECT_FALSE(press(U'q'));
  EXPECT_FALSE(press(Input::Kind::kInterrupt));
}

TEST_F(AppOnAScreen, ZoomStaysWhileTheRecordingGrows) {
  press(Input::Kind::kDown);
  press(Input::Kind::kDown);
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "all › function_0 › inlined_0")) << screen();
  EXPECT_TRUE(has(screen(), ">inlined_0\n"));
  EXPECT_FALSE(has(screen(), "|all"));
  show(profile::make_synthetic_profile({.samples = 9000, .depth = 12}));
  EXPECT_TRUE(has(screen(), "9,000 samples"));
  EXPECT_TRUE(has(screen(), "all › function_0 › inlined_0")) << screen();
  press(Input::Kind::kBackspace);
  EXPECT_TRUE(has(screen(), "all › function_0\n"));
  press(Input::Kind::kEscape);
  EXPECT_FALSE(has(screen(), "›"));
}

TEST_F(AppOnAScreen, StandsStill) {
  press(U' ');
  const std::string before = screen();
  EXPECT_TRUE(has(before, "frozen"));
  show(profile::make_synthetic_profile({.samples = 9000, .depth = 12}));
  EXPECT_EQ(screen(), before);
  press(U' ');
  EXPECT_TRUE(has(screen(), "9,000 samples"));
  EXPECT_TRUE(has(screen(), "live"));
}

TEST_F(AppOnAScreen, SearchesAndKeeps) {
  press(U'2');
  press(U'/');
  type("nction_36$");
  EXPECT_TRUE(has(screen(), "search: nction_36$"));
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "[/nction_36$/ 29.1 %]")) << screen();
  press(U'n');
  EXPECT_TRUE(has(screen(), "function_36: self")) << screen();
  press(U'k');
  type("nction_36$");
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "[only /nction_36$/]")) << screen();
  EXPECT_TRUE(has(screen(), "100.0 %"));
  press(U'k');
  for (int i = 0; i < 20; ++i) press(Input::Kind::kBackspace);
  type("(");
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "(: ")) << screen();  // why not; it can be mended
  press(Input::Kind::kEscape);
  EXPECT_TRUE(has(screen(), "[only /nction_36$/]"));
  press(Input::Kind::kEscape);
  EXPECT_FALSE(has(screen(), "[/nction_36$/"));
  press(Input::Kind::kEscape);
  EXPECT_FALSE(has(screen(), "[only"));
}

TEST_F(AppOnAScreen, ShowsCallersAndCallees) {
  for (int i = 0; i < 4; ++i) press(Input::Kind::kDown);
  press(U's');
  EXPECT_TRUE(has(screen(), "callers ↑  function_183")) << screen();
  EXPECT_TRUE(has(screen(), ">function_183"));
  press(Input::Kind::kUp);
  press(Input::Kind::kUp);
  EXPECT_TRUE(has(screen(), ">function_242")) << screen();
  press(Input::Kind::kEscape);
  EXPECT_FALSE(has(screen(), "callers ↑"));
}

TEST_F(AppOnAScreen, ChoosesWhatCounts) {
  press(U'm');
  EXPECT_TRUE(has(screen(), "[last 10 s]"));
  press(U'M');
  EXPECT_TRUE(has(screen(), "[last 30 s]"));
  press(U'm');
  EXPECT_TRUE(has(screen(), "[half-life 30 s]"));
  press(U'm');
  EXPECT_FALSE(has(screen(), "["));
  press(U']');
  press(U'{');
  EXPECT_TRUE(has(screen(), "[0.5 to 24.8 s]")) << screen();
  press(Input::Kind::kEscape);
  press(U'i');
  EXPECT_TRUE(has(screen(), "[inverted]"));
  press(U'g');
  press(U'g');
  EXPECT_TRUE(has(screen(), "[by process]"));
  press(U'4');
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "[process 1")) << screen();
  EXPECT_TRUE(has(screen(), "100.0 %"));
  press(Input::Kind::kEscape);
  EXPECT_FALSE(has(screen(), "[process 1"));
  press(U'1');
  press(U'd');
  show(profile::make_synthetic_profile({.samples = 9000, .depth = 12}));
  EXPECT_TRUE(has(screen(), "[since d: 20 s, before: 25 s]")) << screen();
  EXPECT_TRUE(has(screen(), "; before "));
}

TEST_F(AppOnAScreen, ArrangesProcesses) {
  press(U'4');
  press(Input::Kind::kRight);
  EXPECT_TRUE(has(screen(), "▾ process_2 (1200)")) << screen();
  EXPECT_TRUE(has(screen(), "thread_")) << screen();
  press(Input::Kind::kLeft);
  press(U't');
  EXPECT_TRUE(has(screen(), "process, as a tree")) << screen();
  press(U't');
  EXPECT_TRUE(has(screen(), "process, by cgroup")) << screen();
  EXPECT_TRUE(has(screen(), "▸ /system.slice/")) << screen();
  press(Input::Kind::kHome);
  press(Input::Kind::kRight);
  EXPECT_TRUE(has(screen(), "  ▸ process_")) << screen();
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(), "[cgroup /system.slice/")) << screen();
  press(Input::Kind::kEnter);
  EXPECT_FALSE(has(screen(), "[cgroup")) << screen();
}

// As a hostile recording may say it.
TEST_F(AppOnAScreen, ListsProcessesThatAreEachOthersParents) {
  profile::Profile profile = profile::make_synthetic_profile({.samples = 5000, .depth = 12});
  const Pid first = profile.processes()[1].pid, second = profile.processes()[2].pid;
  profile.edit_process(profile::ProcessId(1), [&](profile::Process& row) { row.parent_pid = second, row.start_ns = 5; });
  profile.edit_process(profile::ProcessId(2), [&](profile::Process& row) { row.parent_pid = first, row.start_ns = 5; });
  show(profile);
  press(U'4');
  press(U't');
  const std::string tree = screen();
  EXPECT_TRUE(has(tree, "process, as a tree")) << tree;
  for (const profile::Process& process : profile.processes()) EXPECT_TRUE(has(tree, fmt::format("({})", process.pid))) << tree;
}

// Beside the view: it shows what there is, until the tree comes that was wanted last.
TEST_F(AppOnAScreen, WaitsForATreeOfAnotherShape) {
  std::deque<std::pair<Shape, std::shared_ptr<const profile::ProfileSnapshot>>> wanted;
  App app("a program", {.make_tree = [&](Shape shape, std::shared_ptr<const profile::ProfileSnapshot> profile) { wanted.emplace_back(std::move(shape), std::move(profile)); }});
  const auto update = [&](size_t samples) { app.update(std::make_shared<const profile::ProfileSnapshot>(profile::make_synthetic_profile({.samples = samples, .depth = 12})), {}); };
  const auto picture = [&] {
    Grid grid(80, 24);
    app.draw(grid, false);
    return grid.text();
  };
  const auto make = [&] {
    ASSERT_EQ(wanted.size(), 1U);
    app.take_tree(make_tree(wanted[0].first, *wanted[0].second));
  };
  update(5000);
  for (int i = 0; i < 2; ++i) app.press(key(U'g'));
  EXPECT_TRUE(has(picture(), "grouped by process …")) << picture();
  EXPECT_FALSE(has(picture(), "[by ")) << picture();
  make();  // by program, which nobody wants any more
  EXPECT_FALSE(has(picture(), "[by ")) << picture();
  wanted.pop_front();
  app.press(key(U'2'));  // the view goes on
  EXPECT_TRUE(has(picture(), "self ▾")) << picture();
  app.press(key(U'1'));
  make();
  wanted.pop_front();
  EXPECT_TRUE(has(picture(), "[by process]")) << picture();
  EXPECT_TRUE(has(picture(), "process_2 (1200)")) << picture();
  app.press(key(U'K'));
  app.press(key(U'K'));
  make();
  wanted.pop_front();
  EXPECT_TRUE(wanted.empty());  // what was wanted last is there
  EXPECT_TRUE(has(picture(), "[by process]")) << picture();
  app.press(key(U'g'));
  update(9000);  // another recording meanwhile
  make();
  EXPECT_TRUE(has(picture(), "[by process, thread]")) << picture();
  EXPECT_TRUE(has(picture(), "all: 100.0 %")) << picture();
}

TEST_F(AppOnAScreen, SortsProcessesAndSaysWhatTheyDo) {
  press(U'4');
  EXPECT_TRUE(has(screen(), "CPU % ▾     share")) << screen();
  EXPECT_TRUE(has(screen(), " R ▸ process_2 (1200)")) << screen();
  press(U'o');
  EXPECT_TRUE(has(screen(), "CPU %   share ▾")) << screen();
  press(Input::Kind::kRight);
  EXPECT_TRUE(has(screen(), " R     thread_")) << screen();
  EXPECT_TRUE(has(screen(), " D     thread_")) << screen();
  show(profile::make_synthetic_profile({.samples = 5000, .depth = 12}), "it ended");
  EXPECT_FALSE(has(screen(), " D     thread_")) << screen();  // others may have these numbers now
}

TEST_F(AppOnAScreen, SelectsASpanWithTheMouse) {
  const auto mouse = [&](Input::Kind kind, int x) { app_.press({.kind = kind, .x = x, .y = 2}); };
  screen(102, 24);  // 100 columns of 0.25 s
  mouse(Input::Kind::kClick, 11);
  EXPECT_TRUE(has(screen(102, 24), "[2.5 to 2.8 s]")) << screen(102, 24);
  mouse(Input::Kind::kDrag, 30);
  EXPECT_TRUE(has(screen(102, 24), "[2.5 to 7.6 s]")) << screen(102, 24);
  mouse(Input::Kind::kDrag, 1);
  EXPECT_TRUE(has(screen(102, 24), "[0.0 to 2.8 s]")) << screen(102, 24);
  mouse(Input::Kind::kDrag, -7);
  EXPECT_TRUE(has(screen(102, 24), "[0.0 to 2.8 s]")) << screen(102, 24);
  press(U'l');
  mouse(Input::Kind::kDrag, 90);  // of a press that was nowhere
  EXPECT_TRUE(has(screen(102, 24), "[0.0 to 2.8 s]")) << screen(102, 24);
  app_.press({.kind = Input::Kind::kDoubleClick, .x = 5, .y = 2});
  EXPECT_FALSE(has(screen(102, 24), " s]")) << screen(102, 24);
}

TEST_F(AppOnAScreen, ShowsSource) {
  press(U'2');
  press(U'a');
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].function, "function_190");
  EXPECT_FALSE(asked_[0].instructions);
  EXPECT_TRUE(has(screen(), "reading source")) << screen();
  SourceAnswer answer{.number = asked_[0].number, .parts = {{false, "/src/a.cc", {{10, "int f() {", 0, 50}, {12, "  return g();", 40, 50, true}}}}, .all = 100};
  app_.show_source({.number = 77, .missing = "of another question"});
  app_.show_source(answer);
  EXPECT_TRUE(has(screen(), "/src/a.cc")) << screen();
  EXPECT_TRUE(has(screen(), "   40.0 %    50.0 %     12    return g();")) << screen();
  press(U'a');
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_TRUE(asked_[1].instructions);
  app_.show_source({.number = asked_[1].number, .missing = "no file"});
  EXPECT_TRUE(has(screen(), "no file")) << screen();
  press(Input::Kind::kEscape);
  EXPECT_TRUE(has(screen(), "self ▾"));
}

TEST_F(AppOnAScreen, ShowsSourceOfWhatIsChosenAndAsksAgain) {
  press(U'k');
  type("function_36");
  press(Input::Kind::kEnter);
  press(U'2');
  press(U'a');
  ASSERT_EQ(asked_.size(), 1U);
  ASSERT_TRUE(asked_[0].counted);
  const auto counted = std::count(asked_[0].counted->begin(), asked_[0].counted->end(), true);
  EXPECT_GT(counted, 10);
  EXPECT_LT(counted, 4000);
  const profile::Profile more = profile::make_synthetic_profile({.samples = 6000, .depth = 12});
  show(more);  // it waits for the answer
  ASSERT_EQ(asked_.size(), 1U);
  const std::vector<sink::AnnotatedPart> parts{{false, "/src/a.cc", {{10, "int f() {", 0, 50}, {12, "  return g();", 40, 50, true}}}};
  app_.show_source({.number = asked_[0].number, .parts = parts, .all = 100});
  EXPECT_TRUE(has(screen(), "of all 1.01 s")) << screen();
  press(Input::Kind::kHome);
  show(more);
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[1].function, asked_[0].function);
  EXPECT_TRUE(has(screen(), "return g();")) << screen();  // until then
  app_.show_source({.number = asked_[1].number, .parts = parts, .all = 200});
  EXPECT_TRUE(has(screen(), "   20.0 %    25.0 %     12    return g();")) << screen();
  press(U'i');  // it is of the view below
  press(Input::Kind::kEscape);
  press(U'1');
  EXPECT_FALSE(has(screen(), "[inverted]")) << screen();
}

TEST_F(AppOnAScreen, ComparesFunctionsAndSaysWhenThereIsNothingToCompareWith) {
  press(U'2');
  press(U'd');
  show(profile::make_synthetic_profile({.samples = 9000, .depth = 12}));
  EXPECT_TRUE(has(screen(120, 24), " in it, before ")) << screen(120, 24);
}

TEST_F(AppOnAScreen, Writes) {
  press(U'w');
  EXPECT_TRUE(has(screen(), ".svg▏")) << screen();
  for (int i = 0; i < 4; ++i) press(Input::Kind::kBackspace);
  type("html");
  press(Input::Kind::kEnter);
  EXPECT_EQ(written_, std::vector<std::string>{".html"});
  EXPECT_TRUE(has(screen(), "writing"));
  app_.say("written to cicada-1.html");
  EXPECT_TRUE(has(screen(), "written to cicada-1.html"));
  press(U'w');
  press(Input::Kind::kEscape);
  EXPECT_EQ(written_.size(), 1U);
}

TEST_F(AppOnAScreen, LeavesTheKernelOut) {
  press(U'2');
  press(U'/');
  type("kernel");
  press(Input::Kind::kEnter);
  EXPECT_TRUE(has(screen(120, 60), "[kernel]"));
  press(U'K');
  EXPECT_TRUE(has(screen(120, 60), "[no kernel]"));
  EXPECT_FALSE(has(screen(120, 60), " [kernel]"));
}

TEST_F(AppOnAScreen, CopiesAndControls) {
  press(Input::Kind::kDown);
  press(Input::Kind::kDown);
  press(U'y');
  EXPECT_EQ(sent_, "\x1b]52;c;ZnVuY3Rpb25fMAppbmxpbmVkXzAK\a");
  EXPECT_TRUE(has(screen(), "copied: 2 frames"));
  press(U'p');
  EXPECT_EQ(said_, std::vector<std::string>{"pause"});
  show(profile::make_synthetic_profile({.samples = 5000, .depth = 12}), "the recording has ended");
  EXPECT_TRUE(has(screen(), "the recording has ended"));
  press(U'p');
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_TRUE(has(screen(), "nothing is being recorded"));
}

TEST_F(AppOnAScreen, IsSteeredByTheMouse) {
  screen();
  app_.press({.kind = Input::Kind::kClick, .x = 50, .y = 6});
  EXPECT_TRUE(has(screen(), "function_36: 29.1 %")) << screen();
  app_.press({.kind = Input::Kind::kDoubleClick, .x = 50, .y = 6});
  EXPECT_TRUE(has(screen(), "› function_36")) << screen();
  app_.press({.kind = Input::Kind::kClick, .x = 20, .y = 1});
  EXPECT_TRUE(has(screen(), "self ▾")) << screen();
  app_.press({.kind = Input::Kind::kClick, .x = 33, .y = 6});
  EXPECT_FALSE(has(screen(), "function_190: self")) << screen();
}

TEST_F(AppOnAScreen, WaitsForTheFirstSample) {
  App app("a program", {});
  Grid grid(80, 24);
  app.draw(grid, false);
  EXPECT_TRUE(has(grid.text(), "waiting for the first sample"));
  app.update(std::make_shared<const profile::ProfileSnapshot>(), {.ended = "the recording has ended"});
  Grid after(80, 24);
  app.draw(after, false);
  EXPECT_TRUE(has(after.text(), "there are no samples")) << after.text();
}

TEST_F(AppOnAScreen, NamesSteerNothing) {
  show(profile::make_synthetic_profile({.samples = 3000, .depth = 8, .hostile_names = true}));
  for (const char32_t view : {U'1', U'2', U'3', U'4', U'5'}) {
    press(view);
    const std::string text = screen(200, 60);
    for (const char letter : text) EXPECT_FALSE((letter >= 0 && letter < 32 && letter != '\n') || letter == 127) << static_cast<int>(letter);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 60);
  }
}

// Whatever is pressed, whatever comes, on a screen of any size.
TEST_F(AppOnAScreen, SurvivesAnything) {
  profile::Growing growing(3);
  std::mt19937 random(5);
  constexpr std::u32string_view letters = U"123456/nksigdmM[]{} peolxyh+?(a*tKaw";
  constexpr Input::Kind kinds[] = {Input::Kind::kUp, Input::Kind::kDown, Input::Kind::kLeft, Input::Kind::kRight, Input::Kind::kPageUp, Input::Kind::kPageDown, Input::Kind::kHome, Input::Kind::kEnd, Input::Kind::kEnter,
                                   Input::Kind::kEscape, Input::Kind::kBackspace, Input::Kind::kTab, Input::Kind::kBackTab, Input::Kind::kClick, Input::Kind::kDoubleClick, Input::Kind::kDrag, Input::Kind::kWheelUp, Input::Kind::kWheelDown};
  for (int i = 0; i < 6000; ++i) {
    const int width = 1 + static_cast<int>(random() % 130), height = 1 + static_cast<int>(random() % 40);
    if (random() % 8 == 0) {
      growing.step();
      show(growing.profile, random() % 16 == 0 ? "ended" : "");
    }
    if (random() % 500 == 0) growing = profile::Growing(static_cast<uint32_t>(random()));
    if (random() % 20 == 0) app_.add_output("line\r\nmore\x1b[31m");
    if (random() % 3 == 0) press(letters[random() % letters.size()]);
    else app_.press({.kind = kinds[random() % std::size(kinds)], .x = static_cast<int>(random() % 130), .y = random() % 4 == 0 ? 2 : static_cast<int>(random() % 40)});  // 2: the time strip
    screen(width, height, i % 2 == 0);
  }
}

}  // namespace
}  // namespace cicada::top

// SPDX-License-Identifier: Apache-2.0
#include "benchmark/windows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <random>

namespace cicada::benchmark {
namespace {

using Kind = Announcement::Kind;

// `writer` 0: unknown.
Announcement start(uint64_t t, uint64_t writer = 1) { return {.kind = Kind::kStart, .time_ns = t, .writer = writer}; }
Announcement stop(uint64_t t, uint64_t writer = 1) { return {.kind = Kind::kStop, .time_ns = t, .writer = writer}; }
Announcement current(uint64_t t, uint64_t writer, std::string uri) {
  const Pid pid = static_cast<Pid>(writer);
  return {.kind = Kind::kCurrent, .time_ns = t, .writer = writer, .told_pid = pid, .process = {pid, 0}, .uri = std::move(uri)};
}
Announcement begin(uint64_t t, Pid pid = 1) { return {.kind = Kind::kRoundStart, .time_ns = t, .told_pid = pid}; }
Announcement end(uint64_t t, Pid pid = 1) { return {.kind = Kind::kRoundEnd, .time_ns = t, .told_pid = pid}; }
Announcement nobody() { return {.kind = Kind::kNobody}; }

Windows assign(std::vector<Announcement> said) { return assign_windows(said, 1'000'000); }
std::string shown(const Windows& windows) {
  std::string out;
  for (const Window& window : windows.windows) out += fmt::format("{}[{},{})x{} ", window.uri, window.begin_ns, window.end_ns, window.rounds.size());
  return out;
}

TEST(AssignWindows, UnderstandsTheOrderOfEveryClient) {
  // tinybench: name and old-dated rounds after Stop
  EXPECT_EQ(shown(assign({start(10), stop(20), current(21, 1, "a"), begin(11), end(19), start(30), stop(40), current(41, 1, "b"), begin(31), end(39)})),
            "a[10,20)x1 b[30,40)x1 ");
  // vitest, google benchmark, criterion, divan: rounds inside
  EXPECT_EQ(shown(assign({start(10), begin(11), end(12), begin(13), end(14), stop(20), current(21, 1, "a")})), "a[10,20)x2 ");
  // pytest, jvm: no rounds
  EXPECT_EQ(shown(assign({start(10), stop(20), current(21, 1, "a")})), "a[10,20)x0 ");
  // go: all rounds after Stop, before the name; an extra Stop on failure
  EXPECT_EQ(shown(assign({start(10), stop(20), begin(11), end(12), begin(13), end(14), current(21, 1, "a"), stop(25)})), "a[10,20)x2 ");
  // playwright: the name first
  EXPECT_EQ(shown(assign({current(1, 1, "a"), start(10), begin(11), end(12), stop(20), current(21, 1, "b"), start(30), stop(40)})), "a[10,20)x1 b[30,40)x0 ");
  // the name inside
  EXPECT_EQ(shown(assign({start(10), current(12, 1, "a"), stop(20)})), "a[10,20)x0 ");
}

TEST(AssignWindows, NamesTheNewestFinishedWindow) {
  const Windows all = assign({start(10), stop(20), start(30), stop(40), current(41, 1, "b")});
  EXPECT_EQ(shown(all), "b[30,40)x0 ");
  EXPECT_EQ(all.unnamed, 1U);
}

TEST(AssignWindows, LeavesAWindowToThoseWhoWereThere) {
  // The first client died before it named its window; the second one begins with its name.
  EXPECT_EQ(shown(assign({start(10), stop(20), nobody(), current(31, 2, "b"), start(35, 2), stop(40, 2)})), "b[35,40)x0 ");
}

TEST(AssignWindows, ForgetsWhatADeadClientLeftOpen) {
  const Windows all = assign({start(10), nobody(), start(30, 2), stop(40, 2), current(41, 2, "b")});
  EXPECT_EQ(shown(all), "b[30,40)x0 ");
  EXPECT_EQ(all.abandoned, 1U);
}

TEST(AssignWindows, ForgetsANameOfAClientThatHasGone) {
  EXPECT_EQ(shown(assign({current(1, 1, "a"), nobody(), start(10, 2), stop(20, 2), current(21, 2, "b"), start(30, 2), stop(40, 2), current(41, 2, "c")})), "b[10,20)x0 c[30,40)x0 ");
  // Of unknown clients, too.
  const auto unknown = [](Announcement said) {
    said.writer = 0;
    return said;
  };
  EXPECT_EQ(shown(assign({unknown(current(1, 1, "a")), nobody(), start(10, 0), stop(20, 0), unknown(current(21, 2, "b"))})), "b[10,20)x0 ");
}

// A window that has a span between two pauses to itself has its CPU time.
TEST(FindCpuTime, IsThatOfASpanWithOneWindow) {
  const std::vector<Span> spans = {{9, 21, 8}, {29, 61, 30}};
  const Windows apart = assign({start(10), stop(20), current(21, 1, "a"), start(30), stop(40), current(41, 1, "b")});
  ASSERT_EQ(apart.windows.size(), 2U);
  EXPECT_EQ(find_cpu_time(apart.windows, apart.windows[0], spans), 8U);
  EXPECT_EQ(find_cpu_time(apart.windows, apart.windows[1], spans), 30U);
  EXPECT_EQ(find_cpu_time(apart.windows, apart.windows[0], {}), std::nullopt);
  const Windows together = assign({start(30), start(35, 2), stop(40), current(41, 1, "a"), stop(60, 2), current(61, 2, "b")});
  ASSERT_EQ(together.windows.size(), 2U);
  for (const Window& window : together.windows) EXPECT_EQ(find_cpu_time(together.windows, window, spans), std::nullopt);
}

TEST(AssignWindows, CountsStopsWithoutAStart) {
  const Windows all = assign({stop(5), start(10), stop(20), current(21, 1, "a")});
  EXPECT_EQ(shown(all), "a[10,20)x0 ");
  EXPECT_EQ(all.stray_stops, 1U);
}

TEST(AssignWindows, TakesTheFirstOfTwoStarts) {
  const Windows all = assign({start(10), start(12), stop(20), current(21, 1, "a")});
  EXPECT_EQ(shown(all), "a[10,20)x0 ");
  EXPECT_EQ(all.abandoned, 1U);
}

// Whoever starts first, or stops first: each has its own.
TEST(AssignWindows, KeepsTwoClientsApart) {
  EXPECT_EQ(shown(assign({start(10, 1), start(15, 2), stop(20, 1), current(21, 1, "a"), stop(30, 2), current(31, 2, "b")})), "a[10,20)x0 b[15,30)x0 ");
  EXPECT_EQ(shown(assign({start(10, 1), start(15, 2), stop(20, 2), stop(30, 1), current(31, 2, "b"), current(32, 1, "a")})), "a[10,30)x0 b[15,20)x0 ");
  EXPECT_EQ(shown(assign({current(1, 1, "a"), start(10, 1), start(15, 2), stop(20, 2), current(21, 2, "b"), stop(30, 1)})), "a[10,30)x0 b[15,20)x0 ");
}

// Twenty, each of whose turns comes by chance.
TEST(AssignWindows, KeepsTwentyClientsApart) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 1000; ++turn) {
    std::vector<Announcement> said;
    std::map<std::string, Round> truth;
    std::array<unsigned, 20> steps{};
    std::array<Round, 20> rounds{};
    for (uint64_t t = 10; t < 1810; t += 10) {
      uint64_t writer = 0;
      do writer = random() % 20;
      while (steps[writer] == 9);
      switch (steps[writer]++ % 3) {
        case 0:
          rounds[writer].begin_ns = t;
          said.push_back(start(t, writer + 1));
          break;
        case 1:
          rounds[writer].end_ns = t;
          said.push_back(stop(t, writer + 1));
          break;
        default:
          said.push_back(current(t, writer + 1, fmt::format("{}.{}", writer, steps[writer])));
          truth[said.back().uri] = rounds[writer];
      }
    }
    const Windows all = assign(said);
    ASSERT_EQ(all.windows.size(), 60U);
    for (const Window& window : all.windows) ASSERT_TRUE(truth[window.uri].begin_ns == window.begin_ns && truth[window.uri].end_ns == window.end_ns) << window.uri;
  }
}

// A message whose writer is not known, and programs that are started for each message.
TEST(AssignWindows, MatchesWhatIsLeftOfAll) {
  EXPECT_EQ(shown(assign({start(10, 0), stop(20), current(21, 1, "a"), start(30), stop(40), current(41, 1, "b")})), "a[10,20)x0 b[30,40)x0 ");
  EXPECT_EQ(shown(assign({start(10, 1), start(15, 2), stop(20, 0), stop(30, 2), current(31, 2, "b"), current(32, 1, "a")})), "a[10,20)x0 b[15,30)x0 ");
  const Windows all = assign({start(10, 1), nobody(), stop(20, 2), nobody(), current(21, 3, "a")});
  EXPECT_EQ(shown(all), "a[10,20)x0 ");
  EXPECT_EQ(all.unnamed + all.abandoned + all.stray_stops, 0U);
}

// Google Benchmark with interleaved repetitions.
TEST(AssignWindows, KeepsWindowsThatOverlapInOneProcess) {
  const Windows all = assign({start(10), start(15), stop(20), current(21, 1, "a"), stop(30), current(31, 1, "b"), start(40), stop(50), current(51, 1, "c")});
  EXPECT_EQ(shown(all), "a[10,20)x0 b[15,30)x0 c[40,50)x0 ");
  EXPECT_TRUE(all.windows[0].overlaps && all.windows[1].overlaps);
  EXPECT_EQ(all.unnamed + all.abandoned, 0U);
}

TEST(AssignWindows, MarksOverlapsAndGivesRoundsToTheirProcess) {
  const Windows all = assign({start(10), start(15, 2), begin(16, 2), end(19, 2), begin(11, 1), end(29, 1), stop(20, 2), current(21, 2, "b"), stop(30), current(31, 1, "a"), start(40), stop(50), current(51, 1, "c")});
  EXPECT_EQ(shown(all), "a[10,30)x1 b[15,20)x1 c[40,50)x0 ");
  EXPECT_TRUE(all.windows[0].overlaps);
  EXPECT_TRUE(all.windows[1].overlaps);
  EXPECT_FALSE(all.windows[2].overlaps);
}

TEST(AssignWindows, CountsRoundsThatBelongNowhere) { EXPECT_EQ(assign({start(10), stop(20), current(21, 1, "a"), begin(25), end(27)}).stray_rounds, 1U); }

// As many as a client may announce; every pair of them compared would take minutes.
TEST(AssignWindows, EndsWithAnyNumberOfAnnouncements) {
  std::vector<Announcement> rounds, unnamed, nested = {start(1)};
  for (uint64_t t = 10; t < 2'000'000; t += 20) {
    rounds.insert(rounds.end(), {start(t), stop(t + 9), begin(t + 1), end(t + 3), current(t + 10, 1, "a")});
    unnamed.insert(unnamed.end(), {start(t), stop(t + 9), current(t + 10, 2, "late")});
    nested.insert(nested.end(), {start(t, 2), stop(t + 9, 2), current(t + 10, 2, "inner"), begin(t + 1, 2), end(t + 3, 2)});
  }
  const Windows all = assign_windows(rounds, 3'000'000);
  EXPECT_EQ(all.windows.size(), 100'000U);
  EXPECT_EQ(all.windows.back().rounds.size(), 1U);
  EXPECT_LE(assign_windows(unnamed, 3'000'000).windows.size(), 100'000U);
  EXPECT_EQ(assign_windows(nested, 3'000'000).windows.size(), 100'000U);
}

}  // namespace
}  // namespace cicada::benchmark

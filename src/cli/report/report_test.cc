// SPDX-License-Identifier: Apache-2.0
// The texts of report and diff on small profiles with a known truth.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clean_text.h"
#include "cli/diff/diff_condition.h"
#include "cli/diff/diff_table.h"
#include "cli/input/report_input.h"
#include "cli/report/report_functions.h"
#include "cli/report/report_json.h"
#include "cli/report/report_states.h"
#include "cli/report/report_text.h"
#include "cli/report/report_wakers.h"
#include "cli/report/run_queue_table.h"
#include "profile/synthetic_profile_for_test.h"
#include "sink/profile_reader.h"

namespace cicada::cli {
namespace {

using profile::CallTree;
using profile::Profile;
using profile::ProfileSnapshot;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Profile folded(std::string_view text) {
  const Bytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return *sink::parse_folded(bytes, "test.folded");
}

CallTree tree_of(const ProfileSnapshot& profile, std::vector<profile::GroupBy> group_by = {}) {
  profile::CallTreeOptions options;
  options.group_by = std::move(group_by);
  return profile::build_call_tree(profile, options);
}

profile::ProfileDiff diff_of(std::string_view a, std::string_view b, profile::Per per = profile::Per::kShare) {
  profile::DiffOptions options;
  options.per = per;
  options.values_are_counts = true;
  const Profile before = folded(a), after = folded(b);
  return profile::diff(before, after, options);
}

constexpr std::string_view kSmall = "main;work;inner(int) 70\nmain;wait;read 20\nmain;work;inner(int);inner(int) 10\n";

TEST(Functions, CountRecursionOnce) {
  const CallTree tree = tree_of(folded(kSmall));
  const auto costs = add_up_functions(tree);
  ASSERT_FALSE(costs.empty());
  EXPECT_EQ(tree.text(costs[0].name), "inner(int)");
  EXPECT_EQ(costs[0].self, 80u);
  EXPECT_EQ(costs[0].total, 80u);
}

// Two threads: 1 runs 2 s and sleeps 3 s, 2 waits for a lock 4 s and for a pipe 0.5 s.
Profile with_states() {
  Profile profile;
  profile.header.events = {{.name = "cpu-clock", .sample_ns = 500'000'000}, {.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting}};
  const profile::ProcessId process = profile.intern_process(1, 1);
  const auto add = [&](int tid, const char* state, uint64_t value) {
    profile::Sample sample{.thread = profile.intern_thread(process, tid), .value = value, .event = {static_cast<uint8_t>(*state == 0 ? 0 : 1)}};
    const profile::Label label{profile.intern(profile::kStateLabel), profile.intern(state)};
    if (*state != 0) sample.labels = profile.intern_labels({&label, 1});
    profile.append_sample(sample);
  };
  for (int i = 0; i < 4; ++i) add(1, "", 1);
  add(1, "sleep", 3'000'000'000);
  for (int i = 0; i < 2; ++i) add(2, "lock", 2'000'000'000);
  add(2, "io", 500'000'000);
  return profile;
}

TEST(States, AreColumnsOfThreads) {
  const std::string text = *format_states(with_states(), {});
  EXPECT_EQ(text,
            "      total     on CPU       lock      sleep         io  thread\n"
            "    5.000 s    2.000 s               3.000 s             [unknown] (1, main)\n"
            "    4.500 s               4.000 s              500.0 ms  [unknown] (2)\n");
}

TEST(States, ThatDoNotFitAreOne) {
  ReportLimits limits;
  limits.columns = 60;
  limits.rows = 1;
  const std::string text = *format_states(with_states(), limits);
  EXPECT_THAT(text, ContainsRegex("^ *total +on CPU +3 more  thread\n"));
  EXPECT_THAT(text, ContainsRegex("\n +5\\.000 s +2\\.000 s +3\\.000 s"));
  EXPECT_THAT(text, HasSubstr("… 1 more threads"));
}

// Waiting for a CPU has a column of its own, however little it is; a wait of which no state is known is no time on a CPU.
TEST(States, KeepWhatWasWaitedForACpu) {
  Profile profile = with_states();
  profile::Sample sample{.thread = profile::ThreadId(0), .value = 1'000'000, .event = {1}};
  profile.append_sample(sample);
  const profile::Label label{profile.intern(profile::kStateLabel), profile.intern(profile::kRunnableState)};
  sample.labels = profile.intern_labels({&label, 1});
  profile.append_sample(sample);
  EXPECT_THAT(*format_states(profile, {}), ContainsRegex(" on CPU +runnable +lock +sleep +io +waiting  thread\n"));
  ReportLimits limits;
  limits.columns = 71;
  EXPECT_THAT(*format_states(profile, limits), ContainsRegex("^ *total +on CPU +runnable +4 more  thread\n"));
}

// By the scheduler's account where it is known, whether or not there are samples of a clock, or more of them than it says.
TEST(States, TimeOnACpuIsTheSchedulers) {
  Profile profile = with_states();
  profile.edit_thread(profile::ThreadId(0), [](auto& row) { row.cpu_ns = 1'900'000'000; });
  profile.edit_thread(profile::ThreadId(1), [](auto& row) { row.cpu_ns = 250'000'000; });
  EXPECT_EQ(*format_states(profile, {}),
            "      total     on CPU       lock      sleep         io  thread\n"
            "    4.900 s    1.900 s               3.000 s             [unknown] (1, main)\n"
            "    4.750 s   250.0 ms    4.000 s              500.0 ms  [unknown] (2)\n");
}

TEST(States, AreNotThereWithoutWaits) {
  const auto none = format_states(folded(kSmall), {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("-e off-cpu"));
}

// By a period of 1 ms: a wait of 10 µs stands for a hundred.
TEST(RunQueue, IsAHistogramOfTheWaitsForACpu) {
  Profile profile;
  profile.header.events = {{.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting}};
  const auto add = [&](std::string_view state, uint64_t ns) {
    const profile::Label label{profile.intern(profile::kStateLabel), profile.intern(state)};
    profile.append_sample({.thread = profile.intern_thread(profile.intern_process(1, 1), 1), .value = std::max<uint64_t>(ns, 1'000'000), .lasted_ns = ns, .labels = profile.intern_labels({&label, 1})});
  };
  EXPECT_EQ(format_run_queue(profile), "");
  for (int i = 0; i < 2; ++i) add(profile::kRunnableState, 10'000);
  add(profile::kPreemptedState, 40'000'000);
  add("lock", 5'000);
  add(profile::kRunnableState, 0);
  const std::string text = format_run_queue(profile);
  EXPECT_THAT(text, HasSubstr("waiting for a CPU: 42.00 ms in about 201 waits; half of them up to 10.0 µs, 99 % up to 10.0 µs, the longest 40.0 ms\n"));
  EXPECT_THAT(text, HasSubstr("\n    8.19 µs            200    2.00 ms  ##\n"));
  EXPECT_THAT(text, HasSubstr("\n    16.4 µs              0\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\n    33.6 ms              1    40.0 ms  ########################################\n"));
}

// a waits for b 3 s of 4, b for a, and c sleeps.
TEST(Wakers, AreATableAndCircles) {
  Profile profile;
  profile.header.events = {{.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting},
                           {.name = "wakeups", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kOthersWaiting}};
  profile.header.start_monotonic_ns = 0;
  profile.header.duration_ns = 100'000'000'000;
  const profile::ProcessId process = profile.intern_process(1, 1);
  const auto thread = [&](const char* name) {
    const profile::ThreadId id = profile.intern_thread(process, *name);
    profile.edit_thread(id, [&](profile::Thread& row) { row.name = profile.intern(name); });
    return id;
  };
  uint64_t now = 0;
  const auto add = [&](const char* waiting, const char* waker, uint64_t seconds) {
    const uint64_t ns = seconds * 1'000'000'000;
    now += ns;
    if (*waker != 0) profile.append_sample({.time_ns = now, .thread = thread(waker), .value = ns, .lasted_ns = ns, .event = {1}});
    profile.append_sample({.time_ns = now + 5, .thread = thread(waiting), .value = ns, .lasted_ns = ns + 5, .event = {0}});
    now += 100;
  };
  add("a", "b", 3);
  add("a", "timer", 1);
  add("b", "a", 2);
  add("c", "timer", 5);
  add("d", "", 1);
  const std::string text = *format_wakers(profile, {}, [](const auto&, size_t) { return true; });
  EXPECT_THAT(text, HasSubstr("   3.000 s  75.0 %  a        b"));
  EXPECT_THAT(text, HasSubstr("   1.000 s 100.0 %  d        [not seen]"));
  EXPECT_LT(text.find("5.000 s 100.0 %  c        timer"), text.find("3.000 s"));
  EXPECT_THAT(text, ::testing::EndsWith("\nwait for each other:\n  a <-> b\n     75.0 % of a's time for b: [no stack]\n    100.0 % of b's time for a: [no stack]\n"));
  EXPECT_THAT(format_wakers(folded(kSmall), {}, {}).error().message(), HasSubstr("offcpu --wakers"));
}

TEST(Wakers, FitTheTerminal) {
  Profile profile;
  profile.header.events = {{.name = "off-cpu", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kWaiting},
                           {.name = "wakeups", .unit = profile::Unit::kNanoseconds, .spent = profile::Spent::kOthersWaiting}};
  const auto thread = [&](int tid) {
    const profile::ThreadId id = profile.intern_thread(profile.intern_process(1, 1), tid);
    profile.edit_thread(id, [&](profile::Thread& row) { row.name = profile.intern(fmt::format("{} {}", tid, std::string(60, 'x'))); });
    return id;
  };
  for (const auto& [waiting, waker, now] : {std::tuple(1, 2, 5000), {2, 1, 9000}}) {
    profile.append_sample({.time_ns = static_cast<uint64_t>(now), .thread = thread(waker), .value = 1000, .lasted_ns = 1000, .event = {1}});
    profile.append_sample({.time_ns = static_cast<uint64_t>(now), .thread = thread(waiting), .value = 1000, .lasted_ns = 1000, .event = {0}});
  }
  for (size_t columns = 60; columns < 200; columns += 7) {
    ReportLimits limits;
    limits.columns = columns;
    const std::string text = *format_wakers(profile, limits, [](const auto&, size_t) { return true; });
    EXPECT_THAT(text, HasSubstr("[no stack]"));
    EXPECT_THAT(text, HasSubstr("wait for each other"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(count_letters(line), columns) << line;
  }
}

TEST(ReportHeader, CountsWhatItShows) {
  Profile profile;
  profile.header.events = {{.name = "alloc_objects", .unit = profile::Unit::kEvents}, {.name = "alloc_space", .unit = profile::Unit::kBytes}};
  const profile::ThreadId thread = profile.intern_thread(profile.intern_process(1, 1), 1);
  for (const uint8_t event : {uint8_t{0}, uint8_t{1}})
    for (uint64_t value : {3, 5}) profile.append_sample({.thread = thread, .stack = {}, .value = value, .event = {event}});
  EXPECT_THAT(format_report_header(profile, "heap.pb.gz"), HasSubstr("samples    2\nmore       alloc_space (2 samples); --event shows them\n"));
}

TEST(Functions, AreMeantWithAndWithoutParameters) {
  EXPECT_TRUE(matches_function("f(int)", "f"));
  EXPECT_TRUE(matches_function("f(int)", "f(int)"));
  EXPECT_FALSE(matches_function("ff", "f"));
  EXPECT_FALSE(matches_function("f", ""));
}

TEST(Callers, CountEachStackOnce) {
  const auto callers = callers_of(tree_of(folded(kSmall)), "inner");
  ASSERT_TRUE(callers);
  EXPECT_EQ(callers->total(), 80u);
  EXPECT_THAT(format_tree(*callers, {}), ContainsRegex("100.0 % .*inner.*\n.*100.0 % .*work\n.*100.0 % +100.0 % +└ main"));
}

TEST(Callees, KeepChildrenSummingToParents) {
  const Profile synthetic = profile::make_synthetic_profile({.samples = 5000});
  const CallTree whole = tree_of(synthetic);
  for (const FunctionCost& cost : add_up_functions(whole)) {
    const auto callees = callees_of(whole, whole.text(cost.name));
    ASSERT_TRUE(callees);
    EXPECT_EQ(callees->total(), cost.total) << whole.text(cost.name);
    const auto callers = callers_of(whole, whole.text(cost.name));
    ASSERT_TRUE(callers);
    EXPECT_EQ(callers->total(), cost.total) << whole.text(cost.name);
    std::vector<uint64_t> sums(callees->nodes.size());
    for (size_t i = callees->nodes.size(); i-- > 0;) {
      sums[i] += callees->nodes[i].self;
      EXPECT_EQ(sums[i], callees->nodes[i].total);
      if (i != 0) sums[callees->nodes[i].parent] += sums[i];
    }
  }
}

TEST(Callees, OfAnUnknownFunctionSuggestNames) {
  const auto none = callees_of(tree_of(folded(kSmall)), "nner");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kNotFound);
  EXPECT_THAT(none.error().message(), HasSubstr("inner(int)"));
}

TEST(Tree, AddsUpWhatIsTooSmall) {
  std::string text = "main;large 900\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("main;small{} 1\n", i);
  const std::string out = format_tree(tree_of(folded(text)), {.min_percent = 1});
  EXPECT_THAT(out, HasSubstr("large"));
  EXPECT_THAT(out, Not(HasSubstr("small")));
  EXPECT_THAT(out, ContainsRegex("10.0 % .*… 100 more"));
}

TEST(Tree, OfOneDeepChainIsNotIndented) {
  std::string text = "f0";
  for (int i = 1; i < 50; ++i) text += fmt::format(";f{}", i);
  EXPECT_THAT(format_tree(tree_of(folded(text + " 1\n")), {}), ContainsRegex("100.0 % +└ f48\n"));
}

TEST(Tree, TellsAnOnlyCalleeFromASibling) {
  const std::string out = format_tree(tree_of(folded("main;a;b 5\nmain;c 4\n")), {});
  EXPECT_EQ(out,
            "    total     self\n"
            "  100.0 %            main\n"
            "   55.6 %              a\n"
            "   55.6 %   55.6 %   └ b\n"
            "   44.4 %   44.4 %     c\n");
}

TEST(Text, LetsNoControlCharacterReachTheTerminal) {
  const Profile hostile = profile::make_synthetic_profile({.hostile_names = true});
  const CallTree tree = tree_of(hostile, {profile::GroupBy::kProcess, profile::GroupBy::kThread});
  for (const std::string& out : {format_functions(profile::add_up_functions(tree), tree.strings, tree.total(), {.rows = 1000}), format_tree(tree, {.min_percent = 0}), format_groups(tree, {})})
    for (const char c : out) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(Groups, AddUpToEverything) {
  const Profile synthetic = profile::make_synthetic_profile({.samples = 2000, .cpus = 2});
  const std::string out = format_groups(tree_of(synthetic, {profile::GroupBy::kCpu}), {});
  EXPECT_THAT(out, ContainsRegex("50.0 % +1,000  cpu 0"));
  EXPECT_THAT(out, ContainsRegex("50.0 % +1,000  cpu 1"));
}

TEST(Json, HoldsTheWholeTreeWhateverTheNames) {
  const Profile hostile = profile::make_synthetic_profile({.samples = 3000, .hostile_names = true});
  const CallTree tree = tree_of(hostile);
  std::string text;
  write_report_json(hostile, tree, [&](std::string_view part) { text += part; });
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["total"], tree.total());
  EXPECT_EQ(json["tree"].size(), tree.nodes.size());
  uint64_t self = 0;
  for (size_t i = 0; i < json["tree"].size(); ++i) {
    self += json["tree"][i]["self"].get<uint64_t>();
    if (i == 0) continue;
    EXPECT_LT(json["tree"][i]["parent"].get<size_t>(), i);
  }
  EXPECT_EQ(self, tree.total());
}

TEST(Header, SaysWhatWasLost) {
  Profile profile;
  profile.header.host = "box";
  profile.header.events[0].fired = 10;
  profile.header.events[0].counts = {{"stored", 7, true}, {"lost: ring buffer full", 3, true}, {"sent", 9, false}};
  EXPECT_THAT(format_report_header(profile, "x"), HasSubstr("3 lost: ring buffer full\n"));
}

TEST(Filters, AreReadByKey) {
  const auto options = parse_filters({"process=a,7", "state=disk,page fault", "time=2s..5s", "function=^std::"});
  ASSERT_TRUE(options);
  EXPECT_THAT(options->processes, testing::ElementsAre("a", "7"));
  EXPECT_THAT(options->states, testing::ElementsAre("disk", "page fault"));
  EXPECT_EQ(options->from_ns, 2'000'000'000u);
  EXPECT_EQ(options->to_ns, 5'000'000'000u);
  EXPECT_EQ(options->function, "^std::");
}

TEST(Filters, RefuseWhatTheyDoNotKnow) {
  for (const char* wrong : {"x", "x=1", "process=", "time=5", "time=..", "time=a..b", "process=,"})
    EXPECT_FALSE(parse_filters({wrong})) << wrong;
  EXPECT_FALSE(parse_grouping({"process,planet"}));
}

TEST(Diff, DoesNotSellNoiseAsChange) {
  const std::string out = format_diff(diff_of("main;a 500\nmain;b 500\n", "main;a 510\nmain;b 490\n"), {});
  EXPECT_THAT(out, HasSubstr("no significant difference"));
}

TEST(Diff, ShowsWhatGrew) {
  const std::string out = format_diff(diff_of("main;a 500\nmain;b 500\n", "main;a 800\nmain;b 200\n"), {});
  EXPECT_THAT(out, ContainsRegex("50.00 +\\+30.00 .*\\* a\n"));
  EXPECT_THAT(out, ContainsRegex("50.00 +-30.00 .*\\* b\n"));
}

TEST(Diff, ASecondSeesGrowthThatSharesHide) {
  const auto shares = diff_of("main;a 500\nmain;b 500\n", "main;a 1000\nmain;b 1000\n");
  EXPECT_THAT(format_diff(shares, {}), HasSubstr("no significant difference"));
  const auto sums = diff_of("main;a 500\nmain;b 500\n", "main;a 1000\nmain;b 1000\n", profile::Per::kSecond);
  EXPECT_THAT(format_diff(sums, {}), ContainsRegex("50.00 +\\+50.00 .*\\* a\n"));
}

TEST(Condition, IsSplitAtTheLastSign) {
  const auto condition = parse_condition("self:std::vector<int>::push_back>2.5%");
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->function, "std::vector<int>::push_back");
  EXPECT_EQ(condition->percent, 2.5);
  EXPECT_TRUE(condition->self);
  for (const char* wrong : {"", "f", "f>", "f>%", ">5%", "f>5", "f>x%", "f>-1%", "f>nan%", "self:>5%"}) EXPECT_FALSE(parse_condition(wrong)) << wrong;
}

TEST(Condition, FailsOnGrowthAndNotOnNoise) {
  const auto grown = diff_of("main;a 500\nmain;b 500\n", "main;a 800\nmain;b 200\n");
  EXPECT_EQ(find_violations(grown, *parse_condition("a>5%")).size(), 1u);
  EXPECT_EQ(find_violations(grown, *parse_condition("*>5%")).size(), 1u);
  EXPECT_TRUE(find_violations(grown, *parse_condition("a>31%")).empty());
  EXPECT_TRUE(find_violations(grown, *parse_condition("b>5%")).empty());
  EXPECT_TRUE(find_violations(diff_of("main;a 5\nmain;b 5\n", "main;a 7\nmain;b 3\n"), *parse_condition("a>5%")).empty());
  EXPECT_FALSE(is_known(grown, *parse_condition("c>5%")));
}

}  // namespace
}  // namespace cicada::cli

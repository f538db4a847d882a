// SPDX-License-Identifier: Apache-2.0
#include "benchmark/comparison.h"

#include <gmock/gmock.h>

#include <random>

namespace cicada::benchmark {
namespace {

Benchmark of_runs(std::mt19937_64& random, double mean, double deviation, size_t runs) {
  std::normal_distribution<double> noise(mean, deviation);
  Benchmark one;
  one.uri = "a";
  one.source = Source::kRuns;
  for (size_t i = 0; i < runs; ++i) {
    one.runs.emplace_back();
    one.runs.back().times_ns = {noise(random)};
  }
  return one;
}

Benchmark of_summary(double mean, double deviation) {
  Benchmark one;
  one.source = Source::kClient;
  one.runs.emplace_back();
  one.runs[0].told = Summary{100, mean - deviation, mean + deviation, mean, deviation, mean, mean, mean, 0};
  return one;
}

// 2 % of noise from run to run, ten runs: few false alarms, and 5 % are seen more often than not.
TEST(Compare, RarelyRaisesAFalseAlarm) {
  std::mt19937_64 random(5);
  int alarms = 0;
  for (int i = 0; i < 200; ++i) {
    const Verdict verdict = compare(of_runs(random, 100, 2, 10), of_runs(random, 100, 2, 10), {}).time.verdict;
    alarms += verdict == Verdict::kSlower || verdict == Verdict::kFaster;
  }
  EXPECT_LE(alarms, 5);  // 1 % of 200, and two standard errors
}

TEST(Compare, FindsWhatIsLargerThanTheNoise) {
  std::mt19937_64 random(6);
  int found = 0;
  for (int i = 0; i < 100; ++i) found += compare(of_runs(random, 100, 1, 10), of_runs(random, 105, 1, 10), {}).time.verdict == Verdict::kSlower;
  EXPECT_GE(found, 95);
  EXPECT_EQ(compare(of_runs(random, 105, 1, 10), of_runs(random, 100, 1, 10), {}).time.verdict, Verdict::kFaster);
}

// The machine is up to 20 % slower for a while: for both, where they take turns.
TEST(Compare, SeesThroughWhatSlowsBothDown) {
  std::mt19937_64 random(11);
  int alarms = 0, found = 0, found_apart = 0;
  const auto is_change = [](Verdict verdict) { return verdict == Verdict::kSlower || verdict == Verdict::kFaster; };
  for (int i = 0; i < 200; ++i) {
    Benchmark a = of_runs(random, 100, 1, 10), same = of_runs(random, 100, 1, 10), slower = of_runs(random, 105, 1, 10);
    for (size_t run = 0; run < 10; ++run) {
      const double now = std::uniform_real_distribution<double>(1, 1.2)(random);
      for (Benchmark* one : {&a, &same, &slower}) one->runs[run].times_ns[0] *= now;
    }
    alarms += is_change(compare(a, same, {.in_turn = true}).time.verdict);
    found += compare(a, slower, {.in_turn = true}).time.verdict == Verdict::kSlower;
    found_apart += compare(a, slower, {}).time.verdict == Verdict::kSlower;
  }
  EXPECT_LE(alarms, 5);
  EXPECT_GE(found, 190);
  EXPECT_LE(found_apart, 100);
}

// Pairs until it is told, sixty at most; what they come to.
Comparison compare_until_told(std::mt19937_64& random, double after, double deviation, double threshold = 0.02, double precision = 0.02) {
  const ComparisonOptions how{.threshold = threshold, .confidence = kConfidenceOfEachLook, .in_turn = true};
  Benchmark a = of_runs(random, 100, deviation, 1), b = of_runs(random, after, deviation, 1);
  while (a.runs.size() < 60 && !is_told(compare(a, b, how).time, precision, how)) {
    a.runs.push_back(of_runs(random, 100, deviation, 1).runs[0]);
    b.runs.push_back(of_runs(random, after, deviation, 1).runs[0]);
  }
  return compare(a, b, how);
}

bool is_alarm(const Comparison& one) { return one.time.verdict == Verdict::kSlower || one.time.verdict == Verdict::kFaster; }

// What is slower than the threshold is found.
TEST(Compare, RunsCanBeAddedUntilItIsTold) {
  std::mt19937_64 random(12);
  int alarms = 0, same = 0, found = 0;
  size_t pairs = 0;
  for (int i = 0; i < 200; ++i) {
    const Comparison none = compare_until_told(random, 100, 2), slower = compare_until_told(random, 103.5, 1);
    alarms += is_alarm(none);
    same += none.time.verdict == Verdict::kSame;
    pairs += none.runs_before;
    found += slower.time.verdict == Verdict::kSlower;
    EXPECT_NEAR(none.time.after, none.time.before * none.time.ratio.value, 1e-9);
  }
  EXPECT_LE(alarms, 5);
  EXPECT_GE(same, 190);
  EXPECT_LT(pairs, 200U * 50);
  EXPECT_GE(found, 190);
}

// Where sixty pairs are just enough, looking after each of them makes the most false alarms: 1.6 % if each look were as sure as 0.99.
TEST(Compare, LookingAfterEachPairIsAllowedFor) {
  std::mt19937_64 random(14);
  constexpr int kTries = 600;
  int alarms = 0;
  for (int i = 0; i < kTries; ++i) alarms += is_alarm(compare_until_told(random, 100, 3));
  EXPECT_LE(alarms, kTries / 100);
}

// Where a wide interval will do, or each change counts, the first one that excludes 1 must not end it.
TEST(Compare, AWideIntervalIsLookedAtOnce) {
  std::mt19937_64 random(13);
  for (const auto& [threshold, precision] : {std::pair(0.02, 0.1), std::pair(0.0, 0.02), std::pair(0.005, 0.02)}) {
    int alarms = 0;
    for (int i = 0; i < 200; ++i) alarms += is_alarm(compare_until_told(random, 100, 100 * precision, threshold, precision));
    EXPECT_LE(alarms, 5) << threshold << " " << precision;
  }
}

TEST(Compare, IgnoresACertainChangeBelowTheThreshold) {
  std::mt19937_64 random(7);
  const Comparison result = compare(of_runs(random, 100, 0.01, 10), of_runs(random, 101, 0.01, 10), {});
  EXPECT_GT(result.time.ratio.interval->low, 1);
  EXPECT_EQ(result.time.verdict, Verdict::kSame);
  EXPECT_EQ(result.runs_needed, 0U);
}

// What may be twice as slow or twice as fast is not the same.
TEST(Compare, CannotTellWhatTheNoiseHides) {
  std::mt19937_64 random(7);
  const Comparison result = compare(of_runs(random, 100, 20, 10), of_runs(random, 100, 20, 10), {});
  EXPECT_EQ(result.time.verdict, Verdict::kCannotTell);
  EXPECT_GT(result.runs_needed, 100U);  // 20 % of noise, 2 % wanted
}

TEST(Compare, CannotTellByOneRunOfEachHoweverManyRoundsItHas) {
  std::mt19937_64 random(8);
  std::normal_distribution<double> noise(100, 1);
  Benchmark a = of_runs(random, 100, 1, 1), b = of_runs(random, 200, 1, 1);
  for (int i = 0; i < 1000; ++i) {
    a.runs[0].times_ns.push_back(noise(random));
    b.runs[0].times_ns.push_back(2 * noise(random));
  }
  const Comparison result = compare(a, b, {});
  EXPECT_EQ(result.time.verdict, Verdict::kCannotTell);
  EXPECT_FALSE(result.time.ratio.interval);
  EXPECT_NEAR(result.time.ratio.value, 2, 0.01);
  EXPECT_EQ(result.runs_needed, 5U);
  EXPECT_EQ(compare(of_summary(100, 3), of_summary(110, 3), {}).time.verdict, Verdict::kCannotTell);
}

// Under load the wall clock hides what the CPU time shows.
TEST(Compare, JudgesWhatWasUsedBesideTheTime) {
  std::mt19937_64 random(12);
  Benchmark a = of_runs(random, 100, 20, 20), b = of_runs(random, 100, 20, 20);
  std::normal_distribution<double> noise(1, 0.002);
  for (int i = 0; i < 20; ++i) {
    a.runs[static_cast<size_t>(i)].resources = {{"user_ns", 50 * noise(random)}, {"system_ns", 10}, {"instructions", 1e9}};
    b.runs[static_cast<size_t>(i)].resources = {{"user_ns", 55 * noise(random)}, {"system_ns", 10}, {"instructions", 1e9}};
  }
  const Comparison result = compare(a, b, {});
  EXPECT_EQ(result.time.verdict, Verdict::kCannotTell);
  ASSERT_EQ(result.more.size(), 2U);
  EXPECT_EQ(result.more[0].name, "CPU time");
  EXPECT_EQ(result.more[0].verdict, Verdict::kSlower);
  EXPECT_NEAR(result.more[0].ratio.value, 65.0 / 60, 0.01);
  EXPECT_EQ(result.more[1].verdict, Verdict::kSame);
  b.runs[7].resources.erase("user_ns");
  EXPECT_EQ(compare(a, b, {}).more.size(), 1U) << "one run does not say";
}

TEST(Compare, JoinsByUriAndSaysWhatMachinesDifferIn) {
  BenchResult a, b;
  std::mt19937_64 random(9);
  a.benchmarks = {of_runs(random, 100, 1, 10)};
  b.benchmarks = {of_runs(random, 100, 1, 10), of_runs(random, 100, 1, 10)};
  b.benchmarks[0].uri = "new";
  const auto all = compare(a, b, match_benchmarks(a, b), {});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].match.now, 1U);
  BenchResult c = b;
  c.benchmarks.resize(1);
  EXPECT_EQ(match_benchmarks(a, c).size(), 1U) << "whatever they are called: there is one of each";
  a.host = {{"cpu", "x"}, {"kernel", "6.1"}};
  b.host = {{"cpu", "y"}, {"kernel", "6.1"}};
  a.environment = {{{"runtime node", "v20"}}, {{"/lib/a.so", "1a"}, {"/lib/b.so", "3c"}}};
  b.environment = {{{"runtime node", "v26"}}, {{"/lib/a.so", "2b"}, {"/lib/b.so", "3c"}}};
  EXPECT_THAT(host_differences(a, b), testing::ElementsAre("another cpu: x before, y now", "another runtime node: v20 before, v26 now", "another /lib/a.so: build 1a before, 2b now"));
}

TEST(BenchResult, ReadsWhatItWrites) {
  std::mt19937_64 random(10);
  BenchResult result;
  result.version = "1";
  result.host = {{"cpu", "x"}};
  result.environment = {{{"runtime node", "v26"}}, {{"/lib/a.so", "2b"}}};
  result.warnings = {"w"};
  result.recordings = {{"run-1.cicada", "./a \"b\"", 3}};
  result.benchmarks = {of_runs(random, 100, 1, 3), of_summary(5, 1)};
  BenchmarkRun& run = result.benchmarks[0].runs[0];
  run.windows = {{5, 9}};
  run.processes = {{7, 1234567890123456789}};
  run.resources = {{"user_ns", 4}};
  run.ambiguous = true;
  result.comparisons = {{"a", "b", "slower", {1.5, Interval{1.25, 1.75}, 0.5}, "p.html"}, {"a", "c", "cannot tell", {1.5, std::nullopt, 1}, ""}};
  const std::string text = to_json(result);
  const auto read = parse_bench_result({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "x");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->benchmarks[0].runs[0].processes[0].start_ns, 1234567890123456789U);
}

TEST(BenchResult, RefusesDamage) {
  BenchResult result;
  result.recordings = {{"a", "b", 0}};
  std::mt19937_64 random(11);
  result.benchmarks = {of_runs(random, 100, 1, 2)};
  std::string text = to_json(result);
  const auto parse = [](const std::string& t) { return parse_bench_result({reinterpret_cast<const uint8_t*>(t.data()), t.size()}, "x"); };
  EXPECT_TRUE(parse(text));
  std::string bad = text;
  bad.replace(bad.find("\"recording\": 0"), 14, "\"recording\": 9");
  EXPECT_FALSE(parse(bad));
  bad = text;
  bad.replace(bad.find("\"runs\","), 7, "\"odd\",");
  EXPECT_FALSE(parse(bad));
  EXPECT_FALSE(parse(text.substr(0, text.size() / 2)));
  EXPECT_FALSE(parse("{}"));
}

}  // namespace
}  // namespace cicada::benchmark

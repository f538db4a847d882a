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
    const Verdict verdict = compare(of_runs(random, 100, 2, 10), of_runs(random, 100, 2, 10), {}).verdict;
    alarms += verdict == Verdict::kSlower || verdict == Verdict::kFaster;
  }
  EXPECT_LE(alarms, 8);  // 2 % of 200, and two standard errors
}

TEST(Compare, FindsWhatIsLargerThanTheNoise) {
  std::mt19937_64 random(6);
  int found = 0;
  for (int i = 0; i < 100; ++i) found += compare(of_runs(random, 100, 1, 10), of_runs(random, 105, 1, 10), {}).verdict == Verdict::kSlower;
  EXPECT_GE(found, 95);
  EXPECT_EQ(compare(of_runs(random, 105, 1, 10), of_runs(random, 100, 1, 10), {}).verdict, Verdict::kFaster);
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
    alarms += is_change(compare(a, same, {.in_turn = true}).verdict);
    found += compare(a, slower, {.in_turn = true}).verdict == Verdict::kSlower;
    found_apart += compare(a, slower, {}).verdict == Verdict::kSlower;
  }
  EXPECT_LE(alarms, 8);
  EXPECT_GE(found, 190);
  EXPECT_LE(found_apart, 100);
}

TEST(Compare, IgnoresACertainChangeBelowTheThreshold) {
  std::mt19937_64 random(7);
  const Comparison result = compare(of_runs(random, 100, 0.01, 10), of_runs(random, 101, 0.01, 10), {});
  EXPECT_GT(result.interval.low, 1);
  EXPECT_EQ(result.verdict, Verdict::kSame);
}

TEST(Compare, SaysWhenThereAreTooFewRounds) {
  std::mt19937_64 random(8);
  EXPECT_EQ(compare(of_runs(random, 100, 1, 9), of_runs(random, 200, 1, 20), {}).verdict, Verdict::kTooFew);
}

TEST(Compare, UsesWelchsTestOnSummariesAndSaysSo) {
  const Comparison result = compare(of_summary(100, 3), of_summary(110, 3), {});
  EXPECT_TRUE(result.by_summary);
  EXPECT_EQ(result.verdict, Verdict::kSlower);
  EXPECT_EQ(compare(of_summary(100, 30), of_summary(104, 30), {}).verdict, Verdict::kSame);
}

TEST(Compare, JoinsByUriAndSaysWhatMachinesDifferIn) {
  BenchResult a, b;
  std::mt19937_64 random(9);
  a.benchmarks = {of_runs(random, 100, 1, 10)};
  b.benchmarks = {of_runs(random, 100, 1, 10), of_runs(random, 100, 1, 10)};
  b.benchmarks[0].uri = "new";
  const auto all = compare(a, b, {});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].now, 1U);
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

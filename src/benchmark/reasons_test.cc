// SPDX-License-Identifier: Apache-2.0
#include "benchmark/reasons.h"

#include <gmock/gmock.h>

#include <random>

namespace cicada::benchmark {
namespace {

// Runs of `samples` each; functions by their weights, which differ by `spread` from run to run.
std::vector<FunctionSamples> draw(std::mt19937_64& random, const std::map<std::string, double>& weights, size_t runs, size_t samples, double spread = 0, double time = 1) {
  std::vector<FunctionSamples> out(runs);
  for (FunctionSamples& run : out) {
    std::vector<double> now;
    std::normal_distribution<double> noise(1, spread);
    for (const auto& [name, weight] : weights) now.push_back(weight * (spread > 0 ? std::max(0.0, noise(random)) : 1));
    std::discrete_distribution<size_t> pick(now.begin(), now.end());
    for (size_t i = 0; i < samples; ++i) ++run.functions[std::next(weights.begin(), static_cast<ptrdiff_t>(pick(random)))->first].own;
    for (auto& [name, count] : run.functions) count.total = count.own;
    run.all = static_cast<double>(samples);
    run.time = time;
  }
  return out;
}

Comparison slower(double ratio) {
  Comparison out;
  out.time.ratio.value = ratio;
  out.time.ratio.interval = Interval{ratio - 0.01, ratio + 0.01};
  return out;
}

std::vector<std::string> names(const std::vector<Reason>& reasons) {
  std::vector<std::string> out;
  for (const Reason& reason : reasons)
    if (reason.sure) out.push_back(reason.function);
  return out;
}

TEST(FindReasons, NamesWhatTookFivePercentMore) {
  std::mt19937_64 random(1);
  int named = 0, alone = 0;
  for (int i = 0; i < 200; ++i) {
    const auto before = draw(random, {{"same", 50}, {"more", 50}}, 10, 500), after = draw(random, {{"same", 50}, {"more", 55}}, 10, 525, 0, 1.05);
    const auto found = names(find_reasons(before, after, slower(1.05)));
    named += testing::Matches(testing::Contains("more"))(found);
    alone += found.size() == 1;
  }
  EXPECT_GE(named, 190);
  EXPECT_GE(alone, 185);
}

// All of a hundred functions grew alike: none is the reason. What does not change is no reason, however many there are.
TEST(FindReasons, NamesFewThatDidNotChange) {
  std::mt19937_64 random(2);
  std::map<std::string, double> before = {{"more", 10}};
  for (int i = 0; i < 100; ++i) before[fmt::format("f{}", i)] = 0.9;
  std::map<std::string, double> after = before;
  after["more"] = 20;
  int named = 0, others = 0;
  for (int i = 0; i < 50; ++i) {
    const auto found = names(find_reasons(draw(random, before, 10, 500, 0.05), draw(random, after, 10, 500, 0.05, 1.1), slower(1.1)));
    named += testing::Matches(testing::Contains("more"))(found);
    others += static_cast<int>(found.size()) - testing::Matches(testing::Contains("more"))(found);
  }
  EXPECT_EQ(named, 50);
  EXPECT_LE(others, 10);
}

// The share differs from run to run by more than the samples say.
TEST(FindReasons, KnowsTheSpreadBetweenRuns) {
  std::mt19937_64 random(3);
  int named = 0;
  for (int i = 0; i < 100; ++i)
    named += !names(find_reasons(draw(random, {{"a", 50}, {"b", 50}}, 10, 1000, 0.2), draw(random, {{"a", 50}, {"b", 50}}, 10, 1000, 0.2), slower(1.05))).empty();
  EXPECT_LE(named, 12);
}

TEST(FindReasons, NeedsNoSecondRun) {
  std::mt19937_64 random(4);
  EXPECT_THAT(names(find_reasons(draw(random, {{"a", 50}, {"b", 50}}, 1, 5000), draw(random, {{"a", 50}, {"b", 70}}, 1, 6000, 0, 1.2), slower(1.2))), testing::ElementsAre("b"));
  EXPECT_TRUE(find_reasons({}, {}, slower(1.2)).empty());
}

// A clock that samples regularly: `own` of each run's `all` samples, and a little more or less.
std::vector<FunctionSamples> sample_regularly(std::mt19937_64& random, const std::map<std::string, double>& own, size_t runs, double deviation, double time = 1) {
  std::vector<FunctionSamples> out(runs);
  for (FunctionSamples& run : out) {
    for (const auto& [name, samples] : own) {
      const double now = std::max(0.0, std::round(samples + std::normal_distribution<double>(0, deviation)(random)));
      run.functions[name] = {now, now};
      run.all += now;
    }
    run.time = time;
  }
  return out;
}

// 63 ± 1.9 samples a run, and 69: independent draws would vary by 8.
TEST(FindReasons, KnowsThatAClockSamplesRegularly) {
  std::mt19937_64 random(5);
  int named = 0, others = 0;
  std::map<std::string, double> before = {{"tokenize", 63}};
  for (int i = 0; i < 9; ++i) before[fmt::format("f{}", i)] = 60;
  std::map<std::string, double> after = before;
  after["tokenize"] = 69;
  for (int i = 0; i < 100; ++i) {
    const auto found = names(find_reasons(sample_regularly(random, before, 10, 1.9), sample_regularly(random, after, 10, 1.9, 1.01), slower(1.01)));
    named += testing::Matches(testing::Contains("tokenize"))(found);
    others += static_cast<int>(found.size()) - testing::Matches(testing::Contains("tokenize"))(found);
  }
  EXPECT_GE(named, 98);
  EXPECT_LE(others, 10);
}

// Twenty small functions that one calls: none of them is much, together they are it.
TEST(FindReasons, NamesWhoCallsManyThatChanged) {
  std::mt19937_64 random(6);
  const auto with_callers = [&](double each, double time) {
    std::map<std::string, double> own = {{"rest", 400}};
    for (int i = 0; i < 20; ++i) own[fmt::format("part{}", i)] = each;
    auto runs = sample_regularly(random, own, 10, 1, time);
    for (FunctionSamples& run : runs) {
      double sum = 0;
      for (const auto& [name, count] : run.functions)
        if (name.starts_with("part")) sum += count.own;
      run.functions["parse"] = {0, sum};
      run.functions["main"] = {0, run.all};
    }
    return runs;
  };
  const auto found = find_reasons(with_callers(20, 1), with_callers(22, 1.05), slower(1.05));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].function, "parse");
  EXPECT_TRUE(found[0].with_callees && found[0].sure);
  EXPECT_THAT(reason_text(found[0], found[0].function), testing::MatchesRegex(R"(\+[0-9.]+ % \(± [0-9.]+\) in parse and what it calls)"));
}

TEST(FindReasons, GuessesWhereNothingIsSure) {
  FunctionSamples before, after;
  const auto find = [&](double samples) {
    before.functions = {{"a", {0.4 * samples, 0.4 * samples}}, {"b", {0.6 * samples, 0.6 * samples}}};
    after.functions = {{"a", {0.46 * samples, 0.46 * samples}}, {"b", {0.6 * samples, 0.6 * samples}}};
    before.all = samples, after.all = 1.06 * samples;
    after.time = 1.06;
    return find_reasons(std::vector{before}, std::vector{after}, slower(1.06));
  };
  const auto found = find(500);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].sure);
  EXPECT_THAT(reason_text(found[0], found[0].function), testing::StartsWith("perhaps +6.0 % ("));
  EXPECT_TRUE(find(50).empty()) << "6.0 % (± 13.0): a guess at random";
}

}  // namespace
}  // namespace cicada::benchmark

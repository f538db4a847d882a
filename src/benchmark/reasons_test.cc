// SPDX-License-Identifier: Apache-2.0
#include "benchmark/reasons.h"

#include <gmock/gmock.h>

#include <random>

namespace cicada::benchmark {
namespace {

// Runs of `samples` each; functions by their weights, which differ by `spread` from run to run.
std::vector<FunctionSamples> draw(std::mt19937_64& random, const std::map<std::string, double>& weights, size_t runs, size_t samples, double spread = 0) {
  std::vector<FunctionSamples> out(runs);
  for (FunctionSamples& run : out) {
    std::vector<double> now;
    std::normal_distribution<double> noise(1, spread);
    for (const auto& [name, weight] : weights) now.push_back(weight * (spread > 0 ? std::max(0.0, noise(random)) : 1));
    std::discrete_distribution<size_t> pick(now.begin(), now.end());
    for (size_t i = 0; i < samples; ++i) ++run.own[std::next(weights.begin(), static_cast<ptrdiff_t>(pick(random)))->first];
    run.all = static_cast<double>(samples);
  }
  return out;
}

Comparison slower(double ratio) {
  Comparison out;
  out.ratio = ratio;
  out.interval = {ratio - 0.01, ratio + 0.01};
  return out;
}

std::vector<std::string> names(const std::vector<Reason>& reasons) {
  std::vector<std::string> out;
  for (const Reason& reason : reasons) out.push_back(reason.function);
  return out;
}

TEST(FindReasons, NamesWhatTookFivePercentMore) {
  std::mt19937_64 random(1);
  int named = 0, alone = 0;
  for (int i = 0; i < 200; ++i) {
    const auto before = draw(random, {{"same", 50}, {"more", 50}}, 10, 500), after = draw(random, {{"same", 50}, {"more", 55}}, 10, 550);
    const auto found = names(find_reasons(before, after, slower(1.05), 0.99));
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
    const auto found = names(find_reasons(draw(random, before, 10, 500, 0.05), draw(random, after, 10, 500, 0.05), slower(1.1), 0.99));
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
    named += !find_reasons(draw(random, {{"a", 50}, {"b", 50}}, 10, 1000, 0.2), draw(random, {{"a", 50}, {"b", 50}}, 10, 1000, 0.2), slower(1.05), 0.99).empty();
  EXPECT_LE(named, 12);
}

TEST(FindReasons, NeedsNoSecondRun) {
  std::mt19937_64 random(4);
  EXPECT_THAT(names(find_reasons(draw(random, {{"a", 50}, {"b", 50}}, 1, 5000), draw(random, {{"a", 50}, {"b", 70}}, 1, 6000), slower(1.2), 0.99)), testing::ElementsAre("b"));
  EXPECT_TRUE(find_reasons({}, {}, slower(1.2), 0.99).empty());
}

}  // namespace
}  // namespace cicada::benchmark

// SPDX-License-Identifier: Apache-2.0
// Expected numbers were computed apart from this code: by hand, by counting all pairs, by numerical integration of the density of t.
#include "benchmark/statistics.h"

#include <gmock/gmock.h>

#include <random>

namespace cicada::benchmark {
namespace {

TEST(Summarise, HasInclusiveQuantilesAndTheSampleDeviation) {
  const Summary s = summarise({4, 1, 3, 2, 100});
  EXPECT_EQ(s.count, 5U);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.q1, 2);
  EXPECT_DOUBLE_EQ(s.q3, 4);
  EXPECT_DOUBLE_EQ(s.mean, 22);
  EXPECT_NEAR(s.stdev, 43.6176, 1e-4);
  EXPECT_EQ(s.outliers, 1U);
  EXPECT_DOUBLE_EQ(summarise({1, 2, 3, 4}).q1, 1.75);
}

TEST(MedianInterval, CoversTheMedianAsOftenAsItPromises) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(100, 5);
  int covered = 0;
  for (int i = 0; i < 200; ++i) {
    Runs runs(1);
    for (int k = 0; k < 40; ++k) runs[0].push_back(noise(random));
    const Interval interval = median_interval(runs, 0.95);
    covered += interval.low <= 100 && 100 <= interval.high;
  }
  EXPECT_GE(covered, 180);  // 95 % of 200 less 3 standard errors
}

TEST(MedianInterval, IsTheSameEachTime) {
  const Runs runs = {{1, 2, 3, 4, 5}, {2, 3, 4}};
  EXPECT_EQ(median_interval(runs, 0.95).low, median_interval(runs, 0.95).low);
}

// Rounds that agree with each other in each run say little when runs differ.
TEST(RatioInterval, SeesTheSpreadBetweenRuns) {
  Runs a, b;
  for (int run = 0; run < 5; ++run) {
    a.emplace_back(100, 100.0 + 10 * run);
    b.emplace_back(100, 104.0 + 10 * run);
  }
  const Interval interval = ratio_interval(a, b, 0.95);
  EXPECT_LT(interval.low, 1);
  EXPECT_GT(interval.high, 1);
}

TEST(RatioInterval, FindsAClearChange) {
  const Interval interval = ratio_interval({{100, 101, 99, 100, 102, 98}}, {{110, 111, 109, 110, 112, 108}}, 0.95);
  EXPECT_GT(interval.low, 1.05);
  EXPECT_LT(interval.high, 1.15);
}

TEST(MannWhitney, AgreesWithOtherPrograms) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {4, 5, 6, 7, 8, 9};
  // U = 4.5, mean 18, ties 3 × (8 − 2): z = 2.09267
  EXPECT_NEAR(mann_whitney_p(a, b), 0.0363786, 1e-6);
  EXPECT_EQ(mann_whitney_p(a, a), 1);
  EXPECT_EQ(mann_whitney_p({}, a), 1);
}

TEST(AdjustP, IsBenjaminiAndHochbergs) {
  EXPECT_THAT(adjust_p({0.01, 0.04, 0.03, 0.5}), testing::Pointwise(testing::DoubleNear(1e-9), std::vector<double>{0.04, 0.16 / 3, 0.16 / 3, 0.5}));
}

TEST(Welch, AgreesWithTables) {
  // t(0.975, 10) = 2.228: equal variances and counts give 10 degrees.
  Summary a, b;
  a.count = b.count = 6;
  a.mean = 100, b.mean = 105, a.stdev = b.stdev = 3;
  const Welch result = welch(a, b, 0.95);
  const double reach = 2.228 * 3 * std::sqrt(2.0 / 6);
  EXPECT_NEAR(result.ratio.low, 1 + (5 - reach) / 100, 1e-4);
  EXPECT_NEAR(result.ratio.high, 1 + (5 + reach) / 100, 1e-4);
  EXPECT_NEAR(result.p, 0.016197, 1e-6);
}

}  // namespace
}  // namespace cicada::benchmark

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

TEST(RatioOf, HasTheExactP) {
  // Of 20 ways to put three values before three others one is this one, and one its opposite.
  EXPECT_DOUBLE_EQ(ratio_of(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}, 0.8).p, 0.1);
  EXPECT_DOUBLE_EQ(ratio_of(std::vector<double>{1, 2, 4}, std::vector<double>{3, 5, 6}, 0.8).p, 0.2);
  const std::vector<double> a = {10, 11, 12, 13, 14}, b = {20, 21, 22, 23, 24};
  EXPECT_DOUBLE_EQ(ratio_of(a, b, 0.99).p, 2.0 / 252);
  EXPECT_DOUBLE_EQ(ratio_of(a, a, 0.99).p, 1);
  EXPECT_EQ(ratio_of({}, a, 0.99).p, 1);
  const std::vector<double> eight(8, 100), more = {101, 102, 103, 104, 105, 106, 107, 108};
  EXPECT_DOUBLE_EQ(ratio_of_pairs(eight, more, 0.99).p, 2.0 / 256);
}

TEST(RatioOf, IsTheMedianOfAllRatios) {
  const Ratio ratio = ratio_of(std::vector<double>{1, 2, 4, 8, 16}, std::vector<double>{3, 6, 12, 24, 48}, 0.99);
  EXPECT_NEAR(ratio.value, 3, 1e-9);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.interval->low, 3.0 / 16, 1e-9);  // of five values on each side only the extremes are as sure
  EXPECT_NEAR(ratio.interval->high, 48, 1e-9);
  EXPECT_NEAR(ratio_of_pairs(std::vector<double>{1, 10, 100}, std::vector<double>{2, 20, 200}, 0.5).value, 2, 1e-9);
}

TEST(RatioOf, HasNoIntervalOfTooFewValues) {
  EXPECT_EQ(fewest_values(false, 0.99), 5U);
  EXPECT_EQ(fewest_values(true, 0.99), 8U);
  const std::vector<double> four = {1, 2, 3, 4}, seven = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_FALSE(ratio_of(four, four, 0.99).interval);
  EXPECT_TRUE(ratio_of(four, four, 0.9).interval);
  EXPECT_FALSE(ratio_of_pairs(seven, seven, 0.99).interval);
  EXPECT_FALSE(ratio_of({}, four, 0.5).interval);
}

// Whatever the distribution: half of these runs are three times as slow, and a few take ten times as long.
TEST(RatioOf, CoversTheRatioAsOftenAsItPromises) {
  std::mt19937_64 random(4);
  const auto time = [&] { return (random() % 2 == 0 ? 1 : 3) * std::exp(std::normal_distribution<double>(0, 0.05)(random)) * (random() % 20 == 0 ? 10 : 1); };
  for (const size_t count : {5U, 10U, 30U}) {
    int covered = 0, covered_in_pairs = 0;
    constexpr int kTimes = 1000;
    for (int i = 0; i < kTimes; ++i) {
      std::vector<double> a, b;
      for (size_t k = 0; k < count; ++k) a.push_back(time()), b.push_back(time());
      const auto covers = [](const Ratio& ratio) { return !ratio.interval || (ratio.interval->low <= 1 && 1 <= ratio.interval->high); };
      covered += covers(ratio_of(a, b, 0.99));
      covered_in_pairs += covers(ratio_of_pairs(a, b, 0.99));
    }
    EXPECT_GE(covered, 980) << count;  // 99 % of 1,000 less three standard errors
    EXPECT_GE(covered_in_pairs, 980) << count;
  }
}

// The exact distribution and the normal one meet where one takes the other's place, and many values are taken in groups.
TEST(RatioOf, GoesOnSmoothly) {
  const auto shifted = [](size_t count) {
    std::vector<double> a, b;
    for (size_t i = 0; i < count; ++i) {
      a.push_back(100 + 10 * std::sin(static_cast<double>(i)));
      b.push_back(103 + 10 * std::cos(static_cast<double>(i)));
    }
    return std::pair(a, b);
  };
  const auto normal_p = [](const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    double less = 0;
    for (const double x : a)
      for (const double y : b) less += y < x;
    return std::erfc((n * n / 2 - less - 0.5) / std::sqrt(n * n * (2 * n + 1) / 12) / std::sqrt(2.0));
  };
  const auto [a, b] = shifted(63);
  const auto [c, d] = shifted(64);
  const Ratio exact = ratio_of(a, b, 0.99), normal = ratio_of(c, d, 0.99);
  EXPECT_NEAR(exact.p / normal_p(a, b), 1, 0.05);
  EXPECT_NEAR(normal.p / normal_p(c, d), 1, 1e-9);
  EXPECT_NEAR(exact.interval->low, normal.interval->low, 0.005);
  EXPECT_NEAR(exact.interval->high, normal.interval->high, 0.005);
  const auto [e, f] = shifted(4000);
  EXPECT_NEAR(ratio_of(e, f, 0.99).value, 1.03, 0.005);
}

TEST(AdjustP, IsBenjaminiAndHochbergs) {
  EXPECT_THAT(adjust_p({0.01, 0.04, 0.03, 0.5}), testing::Pointwise(testing::DoubleNear(1e-9), std::vector<double>{0.04, 0.16 / 3, 0.16 / 3, 0.5}));
}

TEST(StudentsT, AgreesWithTables) {
  EXPECT_NEAR(t_quantile(0.05, 10), 2.228, 1e-3);
  EXPECT_NEAR(t_tail(2.228, 10), 0.05, 1e-4);
}

}  // namespace
}  // namespace cicada::benchmark

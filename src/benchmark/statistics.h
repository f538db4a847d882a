// SPDX-License-Identifier: Apache-2.0
// Statistics of times, as `cicada bench` shows them and `compare` decides by them.
//
// Quantiles interpolate between the order statistics (inclusive, p(n−1); type 7). The deviation divides by n−1. Outliers lie
// more than 1.5 interquartile ranges outside the quartiles (Tukey). The interval of a median: percentile bootstrap with a fixed seed, over runs and
// over the rounds of each, because the spread within a run understates that between runs. Two sides are compared by one value of each run. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cicada::benchmark {

struct Interval {
  double low = 0, high = 0;
};

struct Summary {
  uint64_t count = 0;
  double min = 0, max = 0, mean = 0, stdev = 0, q1 = 0, median = 0, q3 = 0;
  uint64_t outliers = 0;
};

// `sorted` ascending and not empty.
double quantile(std::span<const double> sorted, double p);
Summary summarise(std::vector<double> values);

using Runs = std::vector<std::vector<double>>;  // rounds by run; empty runs count for nothing

inline constexpr uint64_t kBootstrapSeed = 20261122;
inline constexpr int kResamples = 2000;
// Of the median of all rounds.
Interval median_interval(const Runs& runs, double confidence);

// How many times as large the values of one side are as those of the other.
struct Ratio {
  double value = 1;
  std::optional<Interval> interval;  // nothing: too few values for that confidence
  double p = 1;                      // of no difference, both sides
};
// Values that are independent of each other: the median of all b ÷ a (Hodges and Lehmann), Mann and Whitney's interval and p. Distribution-free, so
// it holds for a handful of values, whatever their distribution; from kMaxValues on, of the medians of so many groups of neighbours.
Ratio ratio_of(std::span<const double> a, std::span<const double> b, double confidence);
// b[i] was measured beside a[i], so what slowed one down slowed the other down: Wilcoxon's signed ranks of b[i] ÷ a[i].
Ratio ratio_of_pairs(std::span<const double> a, std::span<const double> b, double confidence);
// Of each side, for an interval.
size_t fewest_values(bool pairs, double confidence);
inline constexpr size_t kMaxValues = 1000;

// Student's t: both tails of `t`; the t whose both tails are `tail`.
double t_tail(double t, double degrees);
double t_quantile(double tail, double degrees);
// Benjamini and Hochberg 1995: adjusted p, in the order of the argument.
std::vector<double> adjust_p(std::vector<double> p);

}  // namespace cicada::benchmark

// SPDX-License-Identifier: Apache-2.0
// Statistics of times, as `cicada bench` shows them and `compare` decides by them.
//
// Quantiles interpolate between the order statistics (inclusive, p(n−1); type 7). The deviation divides by n−1. Outliers lie
// more than 1.5 interquartile ranges outside the quartiles (Tukey). Confidence intervals: percentile bootstrap with a fixed seed, over runs and
// over the rounds of each, because the spread within a run understates that between runs. Pure.
#pragma once
#include <cstdint>
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
// Of median(b) ÷ median(a). `in_turn`: run i of both came one after the other, so what slowed the machine down then slowed both down, and runs are
// drawn in pairs.
Interval ratio_interval(const Runs& a, const Runs& b, double confidence, bool in_turn = false);

// Two-sided p of Mann and Whitney's U, normal approximation with ties and continuity; 1 if either side is empty.
double mann_whitney_p(std::span<const double> a, std::span<const double> b);
// Student's t: both tails of `t`; the t whose both tails are `tail`.
double t_tail(double t, double degrees);
double t_quantile(double tail, double degrees);
// Benjamini and Hochberg 1995: adjusted p, in the order of the argument.
std::vector<double> adjust_p(std::vector<double> p);

// Welch's t-test for mean(b) ÷ mean(a) where summaries are all there is.
struct Welch {
  Interval ratio;
  double p = 1;
};
Welch welch(const Summary& a, const Summary& b, double confidence);

}  // namespace cicada::benchmark

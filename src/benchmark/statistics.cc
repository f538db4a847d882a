// SPDX-License-Identifier: Apache-2.0
#include "benchmark/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace cicada::benchmark {
namespace {

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Draws runs with replacement, then rounds of each drawn run. A run of one round is its round.
class Resampler {
 public:
  explicit Resampler(const Runs& runs) {
    for (const auto& run : runs)
      if (!run.empty()) runs_.push_back(&run);
  }
  bool empty() const { return runs_.empty(); }
  double median(std::mt19937_64& random) {
    drawn_.clear();
    for (size_t i = 0; i < runs_.size(); ++i) {
      const std::vector<double>& run = *runs_[runs_.size() == 1 ? 0 : random() % runs_.size()];
      // A median of thousands is known well enough from a thousand; fewer draws only widen the interval.
      const size_t count = std::min(run.size(), std::max<size_t>(20, 1000 / runs_.size()));
      for (size_t k = 0; k < count; ++k) drawn_.push_back(run.size() == 1 ? run[0] : run[random() % run.size()]);
    }
    return median_of(drawn_);
  }

 private:
  std::vector<const std::vector<double>*> runs_;
  std::vector<double> drawn_;
};

// How a sum of ranks is distributed where nothing differs: Mann and Whitney's U, or Wilcoxon's signed ranks. It counts which of `count` contrasts are
// negative.
class RankSums {
 public:
  // Of all samples of so many: the Gaussian binomial coefficients.
  static RankSums of_two(size_t n, size_t m) {
    const auto first = static_cast<double>(n), second = static_cast<double>(m);
    RankSums sums(n * m, first * second * (first + second + 1) / 12);
    if (sums.count_ > kMaxExact) return sums;
    std::vector<double> ways(sums.count_ + 1);
    ways[0] = 1;
    for (size_t i = 1; i <= n; ++i) {
      for (size_t k = ways.size(); k-- > m + i;) ways[k] -= ways[k - m - i];
      for (size_t k = i; k < ways.size(); ++k) ways[k] += ways[k - i];
    }
    sums.set(ways);
    return sums;
  }
  static RankSums of_signs(size_t n) {
    const auto count = static_cast<double>(n);
    RankSums sums(n * (n + 1) / 2, count * (count + 1) * (2 * count + 1) / 24);
    if (sums.count_ > kMaxExact) return sums;
    std::vector<double> ways(sums.count_ + 1);
    ways[0] = 1;
    for (size_t i = 1; i <= n; ++i)
      for (size_t k = ways.size(); k-- > i;) ways[k] += ways[k - i];
    sums.set(ways);
    return sums;
  }
  // P(sum <= k)
  double below(double k) const {
    if (!below_.empty()) return below_[std::min(static_cast<size_t>(std::max(k, 0.0)), count_)];
    return variance_ > 0 ? std::erfc((static_cast<double>(count_) / 2 - k - 0.5) / std::sqrt(2 * variance_)) / 2 : 1;
  }
  // The interval ends at this contrast from either side; 0: none is as sure.
  size_t rank(double confidence) const {
    size_t rank = 0, above = count_ / 2 + 1;
    while (above - rank > 1) {
      const size_t middle = (rank + above) / 2;
      (2 * below(static_cast<double>(middle) - 1) <= 1 - confidence + kRounding ? rank : above) = middle;
    }
    return rank;
  }

 private:
  static constexpr size_t kMaxExact = 4000;
  static constexpr double kRounding = 1e-12;
  RankSums(size_t count, double variance) : count_(count), variance_(variance) {}
  void set(const std::vector<double>& ways) {
    const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
    double sum = 0;
    for (const double way : ways) below_.push_back((sum += way) / all);
  }

  size_t count_;
  double variance_;
  std::vector<double> below_;  // empty: nearly normal
};

// Of what is positive and finite. Of very many values the medians of groups of neighbours.
std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> out;
  for (const double value : values)
    if (value > 0 && std::isfinite(value)) out.push_back(std::log(value));
  if (out.size() <= kMaxValues) return out;
  std::vector<double> medians;
  for (size_t i = 0; i < kMaxValues; ++i) {
    std::vector<double> group(out.begin() + static_cast<ptrdiff_t>(i * out.size() / kMaxValues), out.begin() + static_cast<ptrdiff_t>((i + 1) * out.size() / kMaxValues));
    medians.push_back(median_of(group));
  }
  return medians;
}

// By contrasts of logarithms, of which half are negative where nothing differs.
Ratio ratio_by(std::vector<double> contrasts, const RankSums& sums, double confidence) {
  Ratio out;
  if (contrasts.empty()) return out;
  std::sort(contrasts.begin(), contrasts.end());
  out.value = std::exp(quantile(contrasts, 0.5));
  const auto zeros = std::equal_range(contrasts.begin(), contrasts.end(), 0.0);
  const double negative = static_cast<double>(zeros.first - contrasts.begin()) + static_cast<double>(zeros.second - zeros.first) / 2;
  out.p = std::min(1.0, 2 * sums.below(std::ceil(std::min(negative, static_cast<double>(contrasts.size()) - negative))));
  if (const size_t rank = sums.rank(confidence); rank != 0)
    out.interval = Interval{std::exp(contrasts[rank - 1]), std::exp(contrasts[contrasts.size() - rank])};
  return out;
}

Interval percentiles(std::vector<double> values, double confidence) {
  std::sort(values.begin(), values.end());
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2)};
}

}  // namespace

// Student's t, both sides: the incomplete beta function by its continued fraction (Lentz; Abramowitz & Stegun 26.5.8, 26.7.1).
double t_tail(double t, double degrees) {
  const double a = degrees / 2, b = 0.5, x = degrees / (degrees + t * t);
  if (!(x > 0 && x < 1)) return x >= 1 ? 1 : 0;
  const bool flip = x > (a + 1) / (a + b + 2);
  const double p = flip ? b : a, q = flip ? a : b, y = flip ? 1 - x : x;
  double c = 1, d = 1 - (p + q) * y / (p + 1);
  d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
  double fraction = d;
  for (int i = 1; i < 300; ++i) {
    for (const double step : {i * (q - i) * y / ((p + 2 * i - 1) * (p + 2 * i)), -(p + i) * (p + q + i) * y / ((p + 2 * i) * (p + 2 * i + 1))}) {
      d = 1 + step * d;
      d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
      c = 1 + step / c;
      if (std::abs(c) < 1e-300) c = 1e-300;
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-12) break;
  }
  const double front = std::exp(std::lgamma(p + q) - std::lgamma(p) - std::lgamma(q) + p * std::log(y) + q * std::log(1 - y)) / p;
  const double value = front * fraction;
  return flip ? 1 - value : value;
}

double t_quantile(double tail, double degrees) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 100; ++i) (t_tail((low + high) / 2, degrees) > tail ? low : high) = (low + high) / 2;
  return high;
}

double quantile(std::span<const double> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> values) {
  Summary out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  out.min = values.front();
  out.max = values.back();
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.stdev = values.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  out.q1 = quantile(values, 0.25);
  out.median = quantile(values, 0.5);
  out.q3 = quantile(values, 0.75);
  const double fence = 1.5 * (out.q3 - out.q1);
  out.outliers = static_cast<uint64_t>(std::count_if(values.begin(), values.end(), [&](double v) { return v < out.q1 - fence || v > out.q3 + fence; }));
  return out;
}

Interval median_interval(const Runs& runs, double confidence) {
  Resampler sampler(runs);
  if (sampler.empty()) return {};
  std::mt19937_64 random(kBootstrapSeed);
  std::vector<double> medians;
  for (int i = 0; i < kResamples; ++i) medians.push_back(sampler.median(random));
  return percentiles(std::move(medians), confidence);
}

Ratio ratio_of(std::span<const double> a, std::span<const double> b, double confidence) {
  const std::vector<double> before = logarithms(a), after = logarithms(b);
  std::vector<double> differences;
  for (const double x : before)
    for (const double y : after) differences.push_back(y - x);
  return ratio_by(std::move(differences), RankSums::of_two(before.size(), after.size()), confidence);
}

Ratio ratio_of_pairs(std::span<const double> a, std::span<const double> b, double confidence) {
  std::vector<double> quotients;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) quotients.push_back(a[i] > 0 ? b[i] / a[i] : 0);
  quotients = logarithms(quotients);
  std::vector<double> averages;
  for (size_t i = 0; i < quotients.size(); ++i)
    for (size_t k = i; k < quotients.size(); ++k) averages.push_back((quotients[i] + quotients[k]) / 2);
  return ratio_by(std::move(averages), RankSums::of_signs(quotients.size()), confidence);
}

size_t fewest_values(bool pairs, double confidence) {
  size_t count = 1;
  while ((pairs ? RankSums::of_signs(count) : RankSums::of_two(count, count)).rank(confidence) == 0) ++count;
  return count;
}

std::vector<double> adjust_p(std::vector<double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  double least = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    least = std::min(least, p[order[i]] * static_cast<double>(p.size()) / static_cast<double>(p.size() - i));
    p[order[i]] = least;
  }
  return p;
}

}  // namespace cicada::benchmark

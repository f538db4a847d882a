// SPDX-License-Identifier: Apache-2.0
#include "benchmark/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace cicada::benchmark {
namespace {

double normal_tail(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }  // both sides

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
  size_t size() const { return runs_.size(); }
  std::vector<size_t> draw(std::mt19937_64& random) const {
    std::vector<size_t> drawn(runs_.size());
    for (size_t& run : drawn) run = runs_.size() == 1 ? 0 : random() % runs_.size();
    return drawn;
  }
  double median(std::mt19937_64& random) { return median(draw(random), random); }
  double median(const std::vector<size_t>& of_runs, std::mt19937_64& random) {
    drawn_.clear();
    for (const size_t i : of_runs) {
      const std::vector<double>& run = *runs_[i];
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

Interval ratio_interval(const Runs& a, const Runs& b, double confidence, bool in_turn) {
  Resampler before(a), after(b);
  if (before.empty() || after.empty()) return {};
  std::mt19937_64 random(kBootstrapSeed);
  std::vector<double> ratios;
  for (int i = 0; i < kResamples; ++i) {
    const std::vector<size_t> runs = before.draw(random);
    const double base = before.median(runs, random), now = in_turn && after.size() == before.size() ? after.median(runs, random) : after.median(random);
    ratios.push_back(base > 0 ? now / base : 1);
  }
  return percentiles(std::move(ratios), confidence);
}

double mann_whitney_p(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<std::pair<double, bool>> all;
  for (const double value : a) all.emplace_back(value, false);
  for (const double value : b) all.emplace_back(value, true);
  std::sort(all.begin(), all.end());
  double ranks_of_a = 0, ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const double rank = static_cast<double>(i + end + 1) / 2, tied = static_cast<double>(end - i);
    ties += tied * tied * tied - tied;
    for (; i < end; ++i) ranks_of_a += all[i].second ? 0 : rank;
  }
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double u = ranks_of_a - n * (n + 1) / 2, mean = n * m / 2;
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (!(variance > 0)) return 1;
  return std::min(1.0, normal_tail(std::max(0.0, std::abs(u - mean) - 0.5) / std::sqrt(variance)));
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

Welch welch(const Summary& a, const Summary& b, double confidence) {
  Welch out;
  if (a.count < 2 || b.count < 2 || !(a.mean > 0)) return out;
  const double va = a.stdev * a.stdev / static_cast<double>(a.count), vb = b.stdev * b.stdev / static_cast<double>(b.count);
  const double error = std::sqrt(va + vb), difference = b.mean - a.mean;
  if (!(error > 0)) {
    out.ratio = {b.mean / a.mean, b.mean / a.mean};
    out.p = difference == 0 ? 1 : 0;
    return out;
  }
  const double degrees = (va + vb) * (va + vb) / (va * va / static_cast<double>(a.count - 1) + vb * vb / static_cast<double>(b.count - 1));
  const double reach = error * t_quantile(1 - confidence, degrees);
  out.ratio = {1 + (difference - reach) / a.mean, 1 + (difference + reach) / a.mean};
  out.p = t_tail(difference / error, degrees);
  return out;
}

}  // namespace cicada::benchmark

// SPDX-License-Identifier: Apache-2.0
#include "benchmark/reasons.h"

#include <algorithm>
#include <cmath>

#include "profile/function_table.h"

namespace cicada::benchmark {
namespace {

constexpr size_t kMaxReasons = 3;
constexpr double kLeastReason = 0.1;  // of the whole change
constexpr double kFalseReasons = 0.05;
constexpr double kManyDegrees = 1e6;

struct Share {
  double value = 0, variance = 0;
};

// Of all runs together; each run is a cluster of samples that agree more with each other than runs do.
Share share_of(const std::string& function, std::span<const FunctionSamples> runs) {
  double own = 0, all = 0, squares = 0;
  const auto own_in = [&](const FunctionSamples& run) {
    const auto found = run.own.find(function);
    return found == run.own.end() ? 0 : found->second;
  };
  for (const FunctionSamples& run : runs) own += own_in(run), all += run.all;
  if (!(all > 0)) return {};
  Share out{own / all, own / all * (1 - own / all) / all};
  for (const FunctionSamples& run : runs) squares += std::pow(own_in(run) - out.value * run.all, 2);
  const auto count = static_cast<double>(runs.size());
  if (runs.size() > 1) out.variance = std::max(out.variance, squares * count / (count - 1) / (all * all));
  return out;
}

}  // namespace

FunctionSamples count_functions(const profile::ProfileSnapshot& profile) {
  const profile::CallTree tree = profile::build_call_tree(profile, {.count_samples = true});
  FunctionSamples out;
  out.all = static_cast<double>(tree.total());
  for (const profile::FunctionCost& function : profile::add_up_functions(tree)) out.own[std::string(tree.text(function.name))] += static_cast<double>(function.self);
  return out;
}

std::vector<Reason> find_reasons(std::span<const FunctionSamples> before, std::span<const FunctionSamples> after, const Comparison& comparison, double confidence) {
  const double ratio = comparison.ratio, change = ratio - 1;
  const double degrees = before.size() > 1 && after.size() > 1 ? static_cast<double>(before.size() + after.size() - 2) : kManyDegrees;
  const double ratio_error = (comparison.interval.high - comparison.interval.low) / (2 * t_quantile(1 - confidence, kManyDegrees));
  std::map<std::string, double> functions;
  for (const auto runs : {before, after})
    for (const FunctionSamples& run : runs)
      for (const auto& [function, own] : run.own) functions[function] += own;
  std::vector<Reason> all;
  std::vector<double> p;
  for (const auto& [function, samples] : functions) {
    if (samples < 1) continue;
    const Share a = share_of(function, before), b = share_of(function, after);
    Reason one{function, ratio * b.value - a.value, std::sqrt(a.variance + ratio * ratio * b.variance + b.value * b.value * ratio_error * ratio_error)};
    p.push_back(one.error > 0 ? t_tail(one.change / one.error, degrees) : 1);
    all.push_back(std::move(one));
  }
  p = adjust_p(std::move(p));
  std::vector<Reason> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (p[i] <= kFalseReasons && all[i].change * change > 0 && std::abs(all[i].change) >= kLeastReason * std::abs(change)) out.push_back(std::move(all[i]));
  std::sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) { return std::abs(a.change) > std::abs(b.change); });
  out.resize(std::min(out.size(), kMaxReasons));
  return out;
}

}  // namespace cicada::benchmark

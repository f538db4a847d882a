// SPDX-License-Identifier: Apache-2.0
#include "benchmark/comparison.h"

#include <algorithm>
#include <cmath>

namespace cicada::benchmark {
namespace {

std::vector<double> all_of(const Runs& runs) {
  std::vector<double> all;
  for (const auto& run : runs) all.insert(all.end(), run.begin(), run.end());
  return all;
}

// Nothing but one summary of the client's own.
bool is_summary(const Benchmark& one) { return one.source == Source::kClient && one.runs.size() == 1; }

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  constexpr std::string_view kTexts[] = {"same", "faster", "slower", "not enough rounds"};
  return kTexts[static_cast<size_t>(verdict)];
}

Comparison compare(const Benchmark& base, const Benchmark& now, const ComparisonOptions& options) {
  Comparison out;
  out.before = base.summary();
  out.after = now.summary();
  out.by_summary = is_summary(base) || is_summary(now);
  if (out.by_summary) {
    const Welch result = welch(out.before, out.after, options.confidence);
    out.ratio = out.before.mean > 0 ? out.after.mean / out.before.mean : 1;
    out.interval = result.ratio;
    out.p = result.p;
  } else {
    const Runs before = base.times(), after = now.times();
    out.ratio = out.before.median > 0 ? out.after.median / out.before.median : 1;
    out.interval = ratio_interval(before, after, options.confidence, options.in_turn);
    out.p = mann_whitney_p(all_of(before), all_of(after));
  }
  if (std::min(out.before.count, out.after.count) < kMinRounds) {
    out.verdict = Verdict::kTooFew;
  } else if (std::abs(out.ratio - 1) >= options.threshold) {
    if (out.interval.low > 1 && out.ratio > 1) out.verdict = Verdict::kSlower;
    if (out.interval.high < 1 && out.ratio < 1) out.verdict = Verdict::kFaster;
  }
  return out;
}

std::vector<Comparison> compare(const BenchResult& base, const BenchResult& now, const ComparisonOptions& options) {
  std::vector<Comparison> all;
  std::vector<double> p;
  for (size_t i = 0; i < now.benchmarks.size(); ++i) {
    const auto before = std::find_if(base.benchmarks.begin(), base.benchmarks.end(), [&](const Benchmark& one) { return one.uri == now.benchmarks[i].uri; });
    if (before == base.benchmarks.end()) continue;
    all.push_back(compare(*before, now.benchmarks[i], options));
    all.back().base = static_cast<size_t>(before - base.benchmarks.begin());
    all.back().now = i;
    p.push_back(all.back().p);
  }
  p = adjust_p(std::move(p));
  for (size_t i = 0; i < all.size(); ++i) all[i].p = p[i];
  return all;
}

std::vector<std::string> host_differences(const BenchResult& base, const BenchResult& now) {
  std::vector<std::string> out;
  const auto differ = [&](const auto& before, const auto& after, std::string_view what) {
    for (const auto& [key, value] : after) {
      const auto old = before.find(key);
      if (old != before.end() && old->second != value) out.push_back(fmt::format("another {}: {}{} before, {} now", key, what, old->second, value));
    }
  };
  differ(base.host, now.host, "");
  const size_t most = out.size() + kMaxDifferences;
  differ(base.environment.software, now.environment.software, "");
  differ(base.environment.libraries, now.environment.libraries, "build ");
  out.resize(std::min(out.size(), most));
  return out;
}

}  // namespace cicada::benchmark

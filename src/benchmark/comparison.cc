// SPDX-License-Identifier: Apache-2.0
#include "benchmark/comparison.h"

#include <algorithm>
#include <cmath>

namespace cicada::benchmark {
namespace {

// One of each run.
std::vector<double> times_of(const Benchmark& one) {
  std::vector<double> all;
  for (std::vector<double>& run : one.times()) all.push_back(summarise(std::move(run)).median);
  return all;
}

struct Resource {
  const char* name;
  std::vector<const char*> parts;  // added up
};

// Nothing: not all runs have it.
std::vector<double> values_of(const Benchmark& one, const Resource& resource) {
  std::vector<double> all;
  for (const BenchmarkRun& run : one.runs) {
    double sum = 0;
    for (const char* part : resource.parts) {
      const auto at = run.resources.find(part);
      if (at == run.resources.end()) return {};
      sum += at->second;
    }
    all.push_back(sum);
  }
  return all;
}

Measure measure(std::string name, const std::vector<double>& before, const std::vector<double>& after, const ComparisonOptions& options) {
  Measure out{std::move(name), summarise(before).median, 0, {}, Verdict::kCannotTell};
  const bool pairs = options.in_turn && before.size() == after.size();
  out.ratio = pairs ? ratio_of_pairs(before, after, options.confidence) : ratio_of(before, after, options.confidence);
  out.after = out.before * out.ratio.value;
  if (!out.ratio.interval) return out;
  const auto [low, high] = *out.ratio.interval;
  const double most = 1 + options.threshold, least = 1 / most;
  if (low > 1 && out.ratio.value >= most) out.verdict = Verdict::kSlower;
  else if (high < 1 && out.ratio.value <= least) out.verdict = Verdict::kFaster;
  else if (low >= least && high <= most) out.verdict = Verdict::kSame;
  return out;
}

// An interval of n values is as wide as 1 ÷ √n.
size_t runs_needed(const Measure& time, size_t runs, const ComparisonOptions& options) {
  constexpr double kLeastThreshold = 0.001, kMostRuns = 1e6;
  if (time.verdict != Verdict::kCannotTell) return 0;
  const size_t fewest = fewest_values(options.in_turn, options.confidence);
  if (!time.ratio.interval) return std::max(fewest, runs + 1);
  const double reach = std::log(time.ratio.interval->high / time.ratio.interval->low) / 2, wanted = std::log(1 + std::max(options.threshold, kLeastThreshold));
  const double needed = std::ceil(static_cast<double>(runs) * reach * reach / (wanted * wanted));
  return std::max(runs + 1, static_cast<size_t>(std::min(needed, kMostRuns)));
}

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  constexpr std::string_view kTexts[] = {"cannot tell", "same", "faster", "slower"};
  return kTexts[static_cast<size_t>(verdict)];
}

Comparison compare(const Benchmark& base, const Benchmark& now, const ComparisonOptions& options) {
  Comparison out;
  const std::vector<double> before = times_of(base), after = times_of(now);
  out.runs_before = before.size();
  out.runs_after = after.size();
  out.time = measure("wall time", before, after, options);
  out.runs_needed = runs_needed(out.time, std::min(before.size(), after.size()), options);
  const std::vector<Resource> resources{{"CPU time", {"user_ns", "system_ns"}}, {"instructions", {"instructions"}}};
  for (const Resource& resource : resources) {
    const std::vector<double> a = values_of(base, resource), b = values_of(now, resource);
    if (!a.empty() && !b.empty()) out.more.push_back(measure(resource.name, a, b, options));
  }
  return out;
}

bool is_told(const Measure& measure, double precision, const ComparisonOptions& options) {
  const std::optional<Interval>& interval = measure.ratio.interval;
  const double reach = 1 + precision;
  return interval && interval->high <= interval->low * reach * reach && (measure.verdict != Verdict::kCannotTell || precision > options.threshold);
}

std::vector<Match> match_benchmarks(const BenchResult& base, const BenchResult& now) {
  if (base.benchmarks.size() == 1 && now.benchmarks.size() == 1) return {{0, 0}};
  std::vector<Match> all;
  for (size_t i = 0; i < now.benchmarks.size(); ++i) {
    const auto before = std::find_if(base.benchmarks.begin(), base.benchmarks.end(), [&](const Benchmark& one) { return one.uri == now.benchmarks[i].uri; });
    if (before != base.benchmarks.end()) all.push_back({static_cast<size_t>(before - base.benchmarks.begin()), i});
  }
  return all;
}

std::vector<Comparison> compare(const BenchResult& base, const BenchResult& now, const std::vector<Match>& matches, const ComparisonOptions& options) {
  std::vector<Comparison> all;
  std::vector<double> p;
  for (const Match& match : matches) {
    all.push_back(compare(base.benchmarks[match.base], now.benchmarks[match.now], options));
    all.back().match = match;
    p.push_back(all.back().time.ratio.p);
  }
  p = adjust_p(std::move(p));
  for (size_t i = 0; i < all.size(); ++i) all[i].time.ratio.p = p[i];
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

// SPDX-License-Identifier: Apache-2.0
// Whether a benchmark got slower, and how sure that is. A verdict needs both: the interval of the ratio of medians excludes 1, and the change is
// beyond the threshold. Pure.
#pragma once
#include <string>
#include <vector>

#include "benchmark/bench_result.h"

namespace cicada::benchmark {

struct ComparisonOptions {
  double threshold = 0.02;   // of the ratio
  double confidence = 0.99;  // of the interval: hundreds of benchmarks are compared at a time
  bool in_turn = false;      // runs of both took turns (statistics.h)
};

enum class Verdict : uint8_t { kSame, kFaster, kSlower, kTooFew };
std::string_view verdict_text(Verdict verdict);

struct Comparison {
  size_t base = 0, now = 0;  // indices of benchmarks
  Summary before, after;
  double ratio = 1;          // of medians; of means by Welch
  Interval interval;
  double p = 1;              // Mann and Whitney's, or Welch's; adjusted for the number of benchmarks
  Verdict verdict = Verdict::kSame;
  bool by_summary = false;   // clients' summaries are all there is: Welch's test
};

inline constexpr size_t kMinRounds = 10;
Comparison compare(const Benchmark& base, const Benchmark& now, const ComparisonOptions& options);
// Those that both have, by URI, in the order of `now`; p adjusted.
std::vector<Comparison> compare(const BenchResult& base, const BenchResult& now, const ComparisonOptions& options);
// What differs between the machines and in what clients ran with, one line each; at most kMaxDifferences of the latter.
inline constexpr size_t kMaxDifferences = 10;
std::vector<std::string> host_differences(const BenchResult& base, const BenchResult& now);

}  // namespace cicada::benchmark

// SPDX-License-Identifier: Apache-2.0
// Whether a benchmark got slower, and how sure that is. What is compared is one value of each run, because rounds of one run agree more with each
// other than runs do: one run of each says nothing, however many rounds it has.
//
//   slower, faster   the interval of the ratio excludes 1, and the change is beyond the threshold
//   same             the interval lies within the threshold
//   cannot tell      anything else; so many runs may be enough
//
// Pure.
#pragma once
#include <string>
#include <vector>

#include "benchmark/bench_result.h"

namespace cicada::benchmark {

struct ComparisonOptions {
  double threshold = 0.02;   // of the ratio
  double confidence = 0.99;  // of the interval: hundreds of benchmarks are compared at a time
  bool in_turn = false;      // runs of both took turns: they are compared in pairs
};

enum class Verdict : uint8_t { kCannotTell, kSame, kFaster, kSlower };
std::string_view verdict_text(Verdict verdict);

// Of each look at pairs that are added until it is told. Where nothing differs, the median of more and more quotients comes back to 1; that it was beyond
// the threshold at some look is twice as probable as that it is at the last (the reflection principle). So all looks together are as sure as 0.99.
inline constexpr double kConfidenceOfEachLook = 0.995;

// Something that was measured of both. `before` is the median of the runs; `after` is as many times that as the ratio says, so that the three agree
// (quotients of runs that took turns, and medians of each side, can differ in what they say).
struct Measure {
  std::string name;  // "wall time", "CPU time", "instructions"
  double before = 0, after = 0;
  Ratio ratio;
  Verdict verdict = Verdict::kCannotTell;
};

// Indices of two benchmarks.
struct Match {
  size_t base = 0, now = 0;
};

struct Comparison {
  Match match;
  size_t runs_before = 0, runs_after = 0;
  Measure time;
  std::vector<Measure> more;  // of whole commands: what each run used
  size_t runs_needed = 0;     // of each, to tell what differs by the threshold; 0: it can be told
};

Comparison compare(const Benchmark& base, const Benchmark& now, const ComparisonOptions& options);
// Runs can be added until this is true: the interval is within ± `precision`, and there is a verdict. The latter is asked only of an interval that is as
// narrow as the threshold: as it becomes narrower, and the threshold does not, more looks at it make few more false alarms (kConfidenceOfEachLook).
bool is_told(const Measure& measure, double precision, const ComparisonOptions& options);
// Those that both have, by URI, in the order of `now`. Where each side has one only, those.
std::vector<Match> match_benchmarks(const BenchResult& base, const BenchResult& now);
// p of their times adjusted.
std::vector<Comparison> compare(const BenchResult& base, const BenchResult& now, const std::vector<Match>& matches, const ComparisonOptions& options);
// What differs between the machines and in what clients ran with, one line each; at most kMaxDifferences of the latter.
inline constexpr size_t kMaxDifferences = 10;
std::vector<std::string> host_differences(const BenchResult& base, const BenchResult& now);

}  // namespace cicada::benchmark

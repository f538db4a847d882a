// SPDX-License-Identifier: Apache-2.0
// False alarms of comparisons that are drawn from runs of programs that were compared with themselves: COUNT in turn, as `cicada bench 'A' 'B'` adds
// runs until it is told, and COUNT of two results, as `cicada bench compare` does. Arguments: COUNT, then bench.json files of one program each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/file_mapping.h"
#include "benchmark/comparison.h"

namespace cicada::benchmark {
namespace {

constexpr double kPrecision = 0.02;
constexpr size_t kMostPairs = 60, kMostRuns = 12, kFewestRuns = 5;  // of a comparison

struct Pool {
  std::vector<std::pair<BenchmarkRun, BenchmarkRun>> pairs;
  Source source = Source::kRuns;
};

Pool read_pool(int count, char** files) {
  Pool pool;
  for (int i = 0; i < count; ++i) {
    const auto file = FileMapping::open(files[i]);
    const auto result = file ? parse_bench_result(file->bytes(), files[i]) : Result<BenchResult>(file.error());
    if (!result || result->benchmarks.size() < 2) continue;
    const Benchmark &a = result->benchmarks[0], &b = result->benchmarks[1];
    pool.source = a.source;
    for (size_t run = 0; run < std::min(a.runs.size(), b.runs.size()); ++run) pool.pairs.emplace_back(a.runs[run], b.runs[run]);
  }
  return pool;
}

bool is_alarm(const Comparison& comparison) { return comparison.time.verdict == Verdict::kSlower || comparison.time.verdict == Verdict::kFaster; }

// Pairs of neighbours, either of which may be the first.
bool compare_in_turn(const Pool& pool, std::mt19937_64& random) {
  Benchmark base, now;
  base.source = now.source = pool.source;
  const ComparisonOptions how{.confidence = kConfidenceOfEachLook, .in_turn = true};
  for (size_t i = 0; i < kMostPairs; ++i) {
    const auto& [a, b] = pool.pairs[random() % pool.pairs.size()];
    const bool swapped = random() % 2 != 0;
    base.runs.push_back(swapped ? b : a);
    now.runs.push_back(swapped ? a : b);
    const Comparison comparison = compare(base, now, how);
    if (is_told(comparison.time, kPrecision, how)) return is_alarm(comparison);
  }
  return is_alarm(compare(base, now, how));
}

bool compare_apart(const Pool& pool, std::mt19937_64& random) {
  Benchmark base, now;
  base.source = now.source = pool.source;
  for (size_t runs = kFewestRuns + random() % (kMostRuns - kFewestRuns + 1); runs > 0; --runs)
    for (Benchmark* side : {&base, &now}) side->runs.push_back(pool.pairs[random() % pool.pairs.size()].first);
  return is_alarm(compare(base, now, {}));
}

}  // namespace
}  // namespace cicada::benchmark

int main(int argc, char** argv) {
  using namespace cicada::benchmark;
  const int count = argc > 2 ? std::atoi(argv[1]) : 0;
  const Pool pool = read_pool(std::max(0, argc - 2), argv + 2);
  if (count <= 0 || pool.pairs.size() < 8) return std::fprintf(stderr, "resample: COUNT bench.json…, with eight runs at least\n"), 2;
  std::mt19937_64 random(kBootstrapSeed);
  int in_turn = 0, apart = 0;
  for (int i = 0; i < count; ++i) in_turn += compare_in_turn(pool, random) ? 1 : 0, apart += compare_apart(pool, random) ? 1 : 0;
  std::printf("%d and %d of %d (from %zu pairs of runs)\n", in_turn, apart, count, pool.pairs.size());
}

// SPDX-License-Identifier: Apache-2.0
// Google Benchmark under `cicada bench`: each benchmark's repetitions are its rounds. A reporter cannot tell where a benchmark begins, so
// the window opens when the one before has been reported.
//
//   sudo cicada bench -- ./google_benchmark --benchmark_repetitions=12
#include <benchmark/benchmark.h>
#include <cicada/bench.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

class AnnouncingReporter : public benchmark::ConsoleReporter {
 public:
  bool ReportContext(const Context& context) override {
    const bool go_on = ConsoleReporter::ReportContext(context);
    cicada_bench_start();
    return go_on;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    if (!runs.empty()) {
      // Rounds of equal work: the time of one iteration, laid end to end before now.
      uint64_t end = cicada_bench_now();
      for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        if (run->run_type != Run::RT_Iteration || run->iterations == 0) continue;
        const auto took = static_cast<uint64_t>(run->real_accumulated_time * 1e9 / static_cast<double>(run->iterations));
        cicada_bench_round(end - took, end);
        end -= took;
      }
      cicada_bench_stop(("google_benchmark.cc::" + runs.front().run_name.str()).c_str());
      cicada_bench_start();
    }
    ConsoleReporter::ReportRuns(runs);
  }
};

std::vector<std::string> shuffled(size_t count) {
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) words.push_back(std::to_string(i * 7919 % count));
  return words;
}

void sort_words(benchmark::State& state) {
  const auto words = shuffled(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    auto copy = words;
    std::sort(copy.begin(), copy.end());
    benchmark::DoNotOptimize(copy.data());
  }
}
BENCHMARK(sort_words)->Arg(1000)->Arg(10000);

void count_digits(benchmark::State& state) {
  const auto words = shuffled(10000);
  for (auto _ : state) {
    size_t digits = 0;
    for (const std::string& word : words) digits += word.size();
    benchmark::DoNotOptimize(digits);
  }
}
BENCHMARK(count_digits);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  AnnouncingReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
}

// SPDX-License-Identifier: Apache-2.0
// module: benchmark
// Results and environments of clients, and bench.json: a result that can be written again and compared, or an error.
#include "base/check.h"
#include "benchmark/client_results.h"
#include "benchmark/comparison.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::benchmark;
  if (const auto told = parse_client_results({data, size}, "fuzz"))
    for (const ClientBenchmark& one : *told) CHECK(one.iterations >= 1 && one.per_iteration.median >= 0);
  if (const auto environment = parse_client_environment({data, size}, "fuzz"))
    for (const auto& [path, build_id] : environment->libraries) CHECK(path.starts_with('/') && !build_id.empty());
  const auto result = parse_bench_result({data, size}, "fuzz");
  if (!result) return 0;
  size_t times = 0;
  for (const Benchmark& one : result->benchmarks)
    for (const BenchmarkRun& run : one.runs) times += run.times_ns.size();
  if (times > 1000) return 0;  // resampling takes its time
  const std::string text = to_json(*result);
  CHECK(parse_bench_result({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "again"));
  (void)compare(*result, *result, match_benchmarks(*result, *result), {});
  return 0;
}

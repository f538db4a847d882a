// SPDX-License-Identifier: Apache-2.0
// All that a `cicada bench` found: bench.json, which docs/bench.md describes. `compare` reads it again.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "benchmark/client_results.h"
#include "benchmark/statistics.h"
#include "benchmark/windows.h"

namespace cicada::benchmark {

// Where a benchmark's times come from.
enum class Source : uint8_t { kRounds, kClient, kWindows, kRuns };
std::string_view source_text(Source source);

// One benchmark in one run of a command.
struct BenchmarkRun {
  uint32_t recording = 0;                   // index
  std::vector<double> times_ns;             // of each round, per iteration; kWindows: of each window; kRuns: one
  std::optional<Summary> told;              // by the client itself
  std::vector<Round> windows;               // CLOCK_MONOTONIC of the recording
  std::vector<ProcessId> processes;         // whose samples are the benchmark's; none: all of the recording
  double wall_ns = 0, cpu_ns = 0;           // in the windows
  bool cpu_by_samples = true;               // else cpu_ns is the scheduler's account
  uint64_t samples = 0, whole_stacks = 0, user_stacks = 0;
  bool ambiguous = false;                   // another window of the same processes at the same time
  std::map<std::string, double> resources;  // of a whole command: user_ns, system_ns, peak_bytes, page_faults, …
};

struct Benchmark {
  std::string uri, name;
  std::string creator;                      // client that measured it: "codspeed-node 5.7.1"
  Source source = Source::kRounds;
  std::string page;                         // its flame graph, relative to bench.json
  std::vector<BenchmarkRun> runs;

  // Times by run, as far as they can be resampled: of kClient the median of each run.
  Runs times() const;
  // One time of this run: the median.
  double time_of(const BenchmarkRun& run) const;
  // Over all runs; of kClient and one run what the client said.
  Summary summary() const;
  std::optional<Interval> interval() const;  // 95 %, of the median; nothing of one value
};

struct Recording {
  std::string file, command;
  int exit_code = 0;
};

// Commands that took turns: one with the first.
struct Compared {
  std::string base, now;  // URIs
  std::string verdict;
  Ratio ratio;
  std::string page;       // the difference, relative to bench.json
};

struct BenchResult {
  std::map<std::string, std::string> host;  // kernel, cpu, governor, …
  ClientEnvironment environment;            // of all clients
  std::string version;
  std::vector<Recording> recordings;
  std::vector<Benchmark> benchmarks;
  std::vector<Compared> comparisons;
  std::vector<std::string> warnings;
};

std::string to_json(const BenchResult& result);
// Fails (kCorrupt): not bench.json.
Result<BenchResult> parse_bench_result(Bytes json, const std::string& name);

}  // namespace cicada::benchmark

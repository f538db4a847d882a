// SPDX-License-Identifier: Apache-2.0
// Puts a run together: which windows, rounds, client's own numbers and samples are one benchmark's.
#pragma once
#include <span>
#include <vector>

#include "benchmark/bench_result.h"
#include "benchmark/client_results.h"
#include "benchmark/process_tree.h"
#include "benchmark/windows.h"
#include "profile/profile_merge.h"

namespace cicada::benchmark {

// One run of a command, as it was recorded.
struct RunFindings {
  uint32_t recording = 0;
  const Windows& windows;
  std::span<const ClientBenchmark> told;
  const ProcessTree& tree;
  const profile::ProfileSnapshot& profile;
  std::span<const Span> spans = {};
};

// Adds the run's benchmarks to `result`: to those of the same URI, else as new ones.
void add_run(const RunFindings& run, BenchResult& result);

// Libraries that the clients linked and of which other builds ran, one line each: somebody replaced them meanwhile.
std::vector<std::string> replaced_libraries(const ClientEnvironment& told, const profile::ProfileSnapshot& profile);

// The samples of a benchmark in the recording of this run.
profile::SampleFilter samples_of(const profile::ProfileSnapshot& profile, const BenchmarkRun& run);
// Samples and stacks of `run`, by the samples that are its own; its CPU time: of the whole recording the scheduler's account, where it has one, of a part
// of it by samples.
void count_samples(const profile::ProfileSnapshot& profile, BenchmarkRun& run);
// These samples alone. Without `harness`, what calls the innermost frame "__codspeed_root_frame__…" of a stack is left out.
profile::Profile extract(const profile::ProfileSnapshot& profile, const BenchmarkRun& run, bool harness);

}  // namespace cicada::benchmark

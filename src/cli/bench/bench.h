// SPDX-License-Identifier: Apache-2.0
// `cicada bench`: runs commands, several times and in turn, and writes what their benchmarks took and where they spent it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cicada::cli {

struct BenchOptions {
  std::vector<std::vector<std::string>> commands;  // argv each; the first is what others are compared with
  std::vector<std::string> names;                  // of the commands; no two the same
  std::string directory;                           // empty: cicada-bench, counted up
  std::optional<unsigned> runs;                    // nothing: one; of several commands until they are told apart
  unsigned warmup = 0;
  double precision_percent = 2, max_time_s = 60;   // until when, where `runs` is nothing
  double threshold_percent = 2;                    // of a verdict
  bool strict = false;                             // what cannot be told is an exit code
  std::string setup, prepare, cleanup;             // shell commands: before all, before each run, after all
  std::string input;                               // each run's standard input; empty: ours, if it can be read anew
  uint64_t frequency_hz = 997;
  bool isolate = false, harness = false, show_output = false, ignore_failure = false, force = false, as_root = false, quiet = false;
};

// The exit code: the first of a command that failed; 128 and the signal that ended it; kExitGrown, kExitCannotTell; else 0.
Result<int> run_bench(const BenchOptions& options);

}  // namespace cicada::cli

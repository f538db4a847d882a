// SPDX-License-Identifier: Apache-2.0
// `cicada bench`: runs commands, several times and in turn, and writes what their benchmarks took and where they spent it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cicada::cli {

struct BenchOptions {
  std::vector<std::vector<std::string>> commands;  // argv each; the first is what others are compared with
  std::string directory;                              // empty: cicada-bench, counted up
  unsigned runs = 1, warmup = 0;
  std::string prepare;                             // shell command before each run
  std::string frequency = "997";
  bool isolate = false, harness = false, show_output = false, ignore_failure = false, force = false, as_root = false, quiet = false;
};

// The exit code: the first of a command that failed, else 0.
Result<int> run_bench(const BenchOptions& options);

}  // namespace cicada::cli

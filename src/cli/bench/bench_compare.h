// SPDX-License-Identifier: Apache-2.0
// `cicada bench compare BASE NEW`: which benchmarks became slower or faster between two results, how sure that is, and why.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cicada::cli {

struct BenchCompareOptions {
  std::string base, now;    // directories with bench.json, or with results/ of clients alone
  std::string directory;       // for differential flame graphs; empty: none
  double threshold_percent = 2;
  std::vector<std::string> matches;  // "BASE=NEW": numbers or URIs of benchmarks to compare; empty: those of one URI
  bool strict = false;               // what cannot be told is an exit code
  bool markdown = false, json = false, all = false, harness = false;
};

// The exit code: kExitGrown if a benchmark became slower, kExitCannotTell (`strict`) if that cannot be told of one.
Result<int> compare_benchmarks(const BenchCompareOptions& options);

}  // namespace cicada::cli

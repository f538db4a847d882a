// SPDX-License-Identifier: Apache-2.0
// `cicada bench compare BASE NEW`: which benchmarks became slower or faster between two results, how sure that is, and why.
#pragma once
#include <string>

#include "base/result.h"

namespace cicada::cli {

struct BenchCompareOptions {
  std::string base, now;    // directories with bench.json, or with results/ of clients alone
  std::string directory;       // for differential flame graphs; empty: none
  double threshold_percent = 2;
  bool markdown = false, json = false, all = false, harness = false;
};

// The exit code: kExitGrown if a benchmark became slower.
Result<int> compare_benchmarks(const BenchCompareOptions& options);

}  // namespace cicada::cli

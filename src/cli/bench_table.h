// SPDX-License-Identifier: Apache-2.0
// Results of benchmarks and comparisons as text: for the terminal, and as Markdown for a pull request.
#pragma once
#include <string>
#include <vector>

#include "benchmark/comparison.h"
#include "profile/profile.h"

namespace cicada::cli {

std::string time_text(double ns);  // "12.3 ms"
std::string format_bench_table(const benchmark::BenchResult& result, size_t columns);

// A function whose time changed.
struct Reason {
  std::string function;
  double change = 0;  // of its own time, in parts of the time before: 0.05 is 5 % of the benchmark
  double error = 0;   // standard error of it, by the number of samples
};
// Those that explain most of the change of a benchmark, the most first; two standard errors and more.
std::vector<Reason> find_reasons(const profile::Profile& before, const profile::Profile& after, const benchmark::Comparison& comparison);
std::string format_comparison(const std::string& name, const benchmark::Comparison& comparison, const std::vector<Reason>& reasons);

}  // namespace cicada::cli

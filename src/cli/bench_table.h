// SPDX-License-Identifier: Apache-2.0
// Results of benchmarks and comparisons as text: for the terminal, and as Markdown for a pull request.
#pragma once
#include <string>
#include <vector>

#include "benchmark/reasons.h"

namespace cicada::cli {

std::string time_text(double ns);  // "12.34 ms"
std::string format_bench_table(const benchmark::BenchResult& result, size_t columns);

// "99 % interval 0.982 … 1.021", "cannot tell: 12 runs of each needed for 2 %". `threshold`: of ComparisonOptions.
std::string interval_text(const benchmark::Ratio& ratio);
std::string verdict_text(const benchmark::Comparison& comparison, double threshold);
std::string format_comparison(const std::string& name, const benchmark::Comparison& comparison, double threshold, const std::vector<benchmark::Reason>& reasons);

}  // namespace cicada::cli

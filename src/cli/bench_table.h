// SPDX-License-Identifier: Apache-2.0
// Results of benchmarks and comparisons as text: for the terminal, and as Markdown for a pull request.
#pragma once
#include <string>
#include <vector>

#include "benchmark/reasons.h"

namespace cicada::cli {

std::string time_text(double ns);  // "12.34 ms"
std::string format_bench_table(const benchmark::BenchResult& result, size_t columns);

std::string format_comparison(const std::string& name, const benchmark::Comparison& comparison, const std::vector<benchmark::Reason>& reasons);

}  // namespace cicada::cli

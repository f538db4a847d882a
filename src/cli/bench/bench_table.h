// SPDX-License-Identifier: Apache-2.0
// Results of benchmarks and comparisons as text: for the terminal, and as Markdown for a pull request.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "benchmark/reasons.h"
#include "cli/table_names.h"

namespace cicada::cli {

std::string time_text(double ns);  // "12.34 ms"
// Names are as long as they are, or, of a terminal with so many columns, as there is room.
std::string format_bench_table(const benchmark::BenchResult& result, std::optional<size_t> columns);

// "99 % interval 0.982 … 1.021", "cannot tell: 12 runs of each needed for 2 %". `threshold`: of ComparisonOptions.
std::string interval_text(const benchmark::Ratio& ratio);
std::string verdict_text(const benchmark::Comparison& comparison, double threshold);
// One line each; functions by their short names, where those tell them apart.
std::vector<std::string> reason_texts(const std::vector<benchmark::Reason>& reasons, const TableNames& names);
std::string format_comparison(const std::string& name, const benchmark::Comparison& comparison, double threshold, const std::vector<std::string>& reasons);

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
// A profile in words and columns, for a terminal or a pipe. Pure: the same profile gives the same text.
#pragma once
#include <string>
#include <string_view>

#include "cli/table_names.h"
#include "profile/function_table.h"

namespace cicada::cli {

struct ReportLimits {
  double min_percent = 0.5;  // of everything; smaller nodes of the tree are added up in one line
  size_t rows = 20;          // of each table
  size_t depth = 64;         // of the tree as drawn
  size_t columns = 100;
  bool counts = false;       // of the tree, beside its percentages
  TableNames names = {};
  // For columns of CPU time; 0: there are none.
  double seconds_per_value = 0;
  double duration_s = 0;     // for CPU time in percent of one CPU
};

std::string format_report_header(const profile::ProfileSnapshot& profile, const std::string& file);
// The scheduler's account of what was recorded, and whether there is much to see in CPU samples; empty if unknown.
std::string format_cpu_time(const profile::ProfileSnapshot& profile);
// `functions`: ordered, their texts in `strings`; of `total` in all.
std::string format_functions(std::span<const profile::FunctionCost> functions, const profile::StringTable& strings, uint64_t total, const ReportLimits& limits,
                             std::string_view unit = "samples");
// The root frames that grouping made: how much each has.
std::string format_groups(const profile::CallTree& tree, const ReportLimits& limits, std::string_view unit = "samples");
// Children by total. A chain of only children is not indented: deep stacks stay readable.
std::string format_tree(const profile::CallTree& tree, const ReportLimits& limits);

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_table.h"

#include <algorithm>
#include <cmath>

#include "base/clean_text.h"
#include "base/number_text.h"

namespace cicada::cli {
namespace {

using benchmark::Benchmark;
using benchmark::BenchmarkRun;

std::string whole_text(const Benchmark& one) {
  uint64_t whole = 0, of = 0;
  for (const BenchmarkRun& run : one.runs) whole += run.whole_stacks, of += run.user_stacks;
  return of == 0 ? "–" : fmt::format("{:.2f} %", std::floor(static_cast<double>(whole) * 1e4 / static_cast<double>(of)) / 100);
}

// What recording cost: times are of runs beside which nothing was recorded, but for one run alone.
std::string recording_text(const Benchmark& one) {
  std::vector<double> recorded;
  for (const BenchmarkRun& run : one.runs)
    if (run.times_ns != std::vector{run.wall_ns}) recorded.push_back(run.wall_ns);
  if (recorded.empty()) return "    the time includes what recording cost; with -n 2 and more it does not\n";
  const double median = benchmark::summarise(recorded).median, time = one.summary().median;
  return fmt::format("    recorded {} ({:+.1f} %), which does not count\n", time_text(median), 100 * (median / time - 1));
}

// What a command used, as the median of its runs.
std::string resources_text(const Benchmark& one) {
  std::map<std::string, std::vector<double>> all;
  for (const BenchmarkRun& run : one.runs)
    for (const auto& [name, value] : run.resources) all[name].push_back(value);
  std::string out;
  for (const auto& [name, values] : all) {
    const double median = benchmark::summarise(values).median;
    const std::string text = name.ends_with("_ns") ? time_text(median) : name == "peak_bytes" ? bytes_text(median) : fmt::format("{:.0f}", median);
    std::string label = name.substr(0, name.find("_ns"));
    std::replace(label.begin(), label.end(), '_', ' ');
    out += fmt::format("{}{} {}", out.empty() ? "    " : ", ", name == "peak_bytes" ? "peak memory" : label, text);
  }
  const benchmark::Summary summary = one.summary();
  out += fmt::format("\n    min {}, max {}, mean {} ± {}", time_text(summary.min), time_text(summary.max), time_text(summary.mean), time_text(summary.stdev));
  if (summary.outliers != 0) out += fmt::format(", {} of {} runs are outliers", summary.outliers, summary.count);
  return out + "\n" + recording_text(one);
}

constexpr size_t kLeastName = 20, kMostName = 60, kNumbers = 66;  // columns

std::vector<std::string> names_of(const benchmark::BenchResult& result, std::optional<size_t> columns) {
  size_t width = SIZE_MAX;
  if (columns) width = std::clamp(*columns - std::min(*columns, kNumbers), kLeastName, kMostName);
  std::vector<TableNames::Row> rows;
  for (const Benchmark& one : result.benchmarks) rows.push_back({one.uri, width});
  return TableNames().fit(rows);
}

// Windows of one process, or of a process and one that it started, that were open at a time.
std::string overlap_text(const benchmark::BenchResult& result) {
  const auto overlaps = [](const Benchmark& one) { return std::any_of(one.runs.begin(), one.runs.end(), [](const BenchmarkRun& run) { return run.ambiguous; }); };
  const auto count = std::count_if(result.benchmarks.begin(), result.benchmarks.end(), overlaps);
  if (count == 0) return {};
  return fmt::format("  ⚠ {} benchmark{} ran while another of the same process did, or of one above or below it: what was sampled then counts in both\n", count, count == 1 ? "" : "s");
}

}  // namespace

std::string time_text(double ns) { return ns > 0 ? seconds_text(ns * 1e-9, 4) : "–"; }

std::string format_bench_table(const benchmark::BenchResult& result, std::optional<size_t> columns) {
  const std::vector<std::string> names = names_of(result, columns);
  size_t width = kLeastName;
  for (const std::string& name : names) width = std::max(width, count_letters(name));
  std::string out = fmt::format("{:<{}} {:>11} {:>25} {:>7} {:>8} {:>10}\n", "benchmark", width, "median", "95 % interval", "rounds", "samples", "complete");
  for (const Benchmark& one : result.benchmarks) {
    const benchmark::Summary summary = one.summary();
    const std::optional<benchmark::Interval> interval = one.interval();
    uint64_t samples = 0;
    for (const BenchmarkRun& run : one.runs) samples += run.samples;
    const std::string& name = names[static_cast<size_t>(&one - result.benchmarks.data())];
    out += fmt::format("{}{} {:>11} {:>25} {:>7} {:>8} {:>10}\n", name, std::string(width - count_letters(name), ' '), time_text(summary.median),
                       interval ? fmt::format("{} … {}", time_text(interval->low), time_text(interval->high)) : "–", summary.count, samples, whole_text(one));
    if (one.source == benchmark::Source::kRuns) out += resources_text(one);
  }
  out += overlap_text(result);
  for (const std::string& warning : result.warnings) out += "  ⚠ " + clean_text(warning) + "\n";
  return out;
}

std::string interval_text(const benchmark::Ratio& ratio) {
  return ratio.interval ? fmt::format("99 % interval {:.3f} … {:.3f}", ratio.interval->low, ratio.interval->high) : "no interval";
}

std::string verdict_text(const benchmark::Comparison& comparison, double threshold) {
  const std::string verdict(benchmark::verdict_text(comparison.time.verdict));
  if (comparison.runs_needed == 0) return verdict;
  return fmt::format("{}: {}{} runs of each needed for {:.4g} %", verdict, comparison.time.ratio.interval ? "about " : "at least ", comparison.runs_needed, 100 * threshold);
}

std::vector<std::string> reason_texts(const std::vector<benchmark::Reason>& reasons, const TableNames& names) {
  std::vector<TableNames::Row> rows;
  for (const benchmark::Reason& reason : reasons) rows.push_back({reason.function, SIZE_MAX});
  std::vector<std::string> out = names.fit(rows);
  for (size_t i = 0; i < out.size(); ++i) out[i] = benchmark::reason_text(reasons[i], out[i]);
  return out;
}

std::string format_comparison(const std::string& name, const benchmark::Comparison& comparison, double threshold, const std::vector<std::string>& reasons) {
  const auto amount = [](const benchmark::Measure& measure, double value) {
    return measure.name == "instructions" ? grouped_digits(static_cast<uint64_t>(value)) : time_text(value);
  };
  const benchmark::Ratio& time = comparison.time.ratio;
  std::string out = fmt::format("{}: {:.3f} ({}, p {:.2g}): {}\n", clean_text(name), time.value, interval_text(time), time.p, verdict_text(comparison, threshold));
  for (const benchmark::Measure& one : comparison.more)
    out += fmt::format("  {} {} → {}: {:.3f} ({}): {}\n", one.name, amount(one, one.before), amount(one, one.after), one.ratio.value, interval_text(one.ratio), benchmark::verdict_text(one.verdict));
  for (const std::string& reason : reasons) out += fmt::format("  {}\n", reason);
  return out;
}

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clean_text.h"
#include "base/file_mapping.h"
#include "benchmark/attribution.h"
#include "benchmark/comparison.h"
#include "cli/bench_pages.h"
#include "cli/bench_table.h"
#include "cli/client_files.h"
#include "cli/exit_code.h"
#include "cli/report_input.h"
#include "cli/terminal.h"
#include "sink/output_directory.h"

namespace cicada::cli {
namespace {

using benchmark::Benchmark;
using benchmark::BenchResult;
using benchmark::Comparison;
using benchmark::Verdict;

// Without a bench.json what clients wrote is all there is.
Result<BenchResult> load(const std::string& directory) {
  if (const auto file = FileMapping::open(directory + "/bench.json")) return benchmark::parse_bench_result(file->bytes(), directory + "/bench.json");
  BenchResult result;
  ClientFiles files = read_client_files(directory, InvokingUser::effective());
  result.environment = std::move(files.environment);
  for (benchmark::ClientBenchmark& told : files.benchmarks) {
    Benchmark one;
    one.uri = told.uri;
    one.name = told.name;
    one.creator = told.creator;
    one.source = benchmark::Source::kClient;
    one.runs.emplace_back();
    one.runs[0].told = told.per_iteration;
    result.benchmarks.push_back(std::move(one));
  }
  for (const std::string& warning : files.warnings) print_warning(warning);
  if (result.benchmarks.empty()) return make_error(ErrorKind::kNotFound, "{}: no such directory, or neither a bench.json nor results of benchmarks in it", directory);
  return result;
}

// Samples of benchmarks from the recordings of a result; each is read once.
class Recordings {
 public:
  Recordings(std::string directory, const BenchResult& result, bool harness) : directory_(std::move(directory)), result_(result), harness_(harness) {}

  struct Samples {
    profile::Profile all;
    std::vector<benchmark::FunctionSamples> runs;
  };
  Result<Samples> samples_of(const Benchmark& one) {
    Samples out;
    for (const benchmark::BenchmarkRun& run : one.runs) {
      if (run.recording >= result_.recordings.size()) return make_error(ErrorKind::kNotFound, "{}: no recording", directory_);
      const std::string& file = result_.recordings[run.recording].file;
      if (file.find('/') != std::string::npos) return make_error(ErrorKind::kCorrupt, "{}: a recording outside of the directory: {}", directory_, file);
      auto known = read_.find(file);
      if (known == read_.end()) {
        const std::string path = directory_ + "/" + file;
        const FileMapping file_bytes = TRY(FileMapping::open(path));
        known = read_.emplace(file, TRY(load_profile(file_bytes.bytes(), path))).first;
      }
      const profile::Profile part = benchmark::extract(known->second, run, harness_);
      out.runs.push_back(benchmark::count_functions(part));
      profile::merge(out.all, part);
    }
    return out;
  }

 private:
  const std::string directory_;
  const BenchResult& result_;
  const bool harness_;
  std::map<std::string, profile::Profile> read_;
};

struct Row {
  Comparison comparison;
  std::vector<benchmark::Reason> reasons;
  std::string page;  // differential flame graph
};

bool is_change(const Comparison& comparison) { return comparison.verdict == Verdict::kSlower || comparison.verdict == Verdict::kFaster; }

// Why; without recordings nobody knows.
Result<void> explain(Row& row, Recordings& before, Recordings& after, const Benchmark& base, const Benchmark& now,
                     const sink::FileRights& rights) {
  const Recordings::Samples a = TRY(before.samples_of(base)), b = TRY(after.samples_of(now));
  row.reasons = benchmark::find_reasons(a.runs, b.runs, row.comparison, benchmark::ComparisonOptions{}.confidence);
  if (!rights.below) return {};
  const std::string page = fmt::format("difference-{:04}.html", row.comparison.now + 1);
  row.page = fmt::format("{}/{}", rights.below->path(), page);
  return write_difference(page, rights, a.all, b.all, fmt::format("{}: after compared with before", now.name));
}

std::string to_json(const std::vector<Row>& rows, const BenchResult& now, const std::vector<std::string>& warnings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Row& row : rows) {
    const Comparison& c = row.comparison;
    Json reasons = Json::array();
    for (const benchmark::Reason& reason : row.reasons) reasons.push_back({{"function", reason.function}, {"change", reason.change}, {"standard_error", reason.error}});
    list.push_back({{"uri", now.benchmarks[c.now].uri}, {"verdict", benchmark::verdict_text(c.verdict)}, {"ratio", c.ratio}, {"interval", {c.interval.low, c.interval.high}}, {"p", c.p},
                    {"by_summary", c.by_summary}, {"before_ns", c.before.median}, {"after_ns", c.after.median}, {"rounds", {c.before.count, c.after.count}}, {"because", reasons}, {"flame_graph", row.page}});
  }
  return Json{{"version", 1}, {"confidence", benchmark::ComparisonOptions{}.confidence}, {"seed", benchmark::kBootstrapSeed}, {"warnings", warnings}, {"benchmarks", list}}.dump(
             1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) {
    if (c == '|' || c == '`' || c == '<' || c == '*' || c == '_' || c == '[' || c == '@') out += '\\';
    out += c;
  }
  return out;
}

std::string to_markdown(const std::vector<Row>& rows, const BenchResult& now, const std::vector<std::string>& warnings, size_t unchanged) {
  std::string out = "| benchmark | before | after | ratio | 99 % interval | | because |\n|---|--:|--:|--:|:-:|---|---|\n";
  for (const Row& row : rows) {
    const Comparison& c = row.comparison;
    std::string reasons;
    for (const benchmark::Reason& reason : row.reasons) reasons += fmt::format("{}{:+.1f} % {}", reasons.empty() ? "" : ", ", 100 * reason.change, markdown_text(reason.function));
    out += fmt::format("| {} | {} | {} | {:.3f} | {:.3f} … {:.3f} | {}{} | {} |\n", markdown_text(now.benchmarks[c.now].uri), time_text(c.before.median), time_text(c.after.median), c.ratio,
                       c.interval.low, c.interval.high, benchmark::verdict_text(c.verdict), c.by_summary ? " (by summaries)" : "", reasons);
  }
  if (unchanged != 0) out += fmt::format("\n{} more without a change.\n", unchanged);
  for (const std::string& warning : warnings) out += fmt::format("\n⚠ {}\n", markdown_text(warning));
  return out;
}

std::string to_text(const std::vector<Row>& rows, const BenchResult& now, size_t unchanged) {
  std::string out;
  for (const Row& row : rows) {
    out += format_comparison(now.benchmarks[row.comparison.now].uri, row.comparison, row.reasons);
    if (!row.page.empty()) out += fmt::format("  difference in {}\n", row.page);
  }
  if (unchanged != 0) out += fmt::format("{} without a change\n", unchanged);
  return out;
}

}  // namespace

Result<int> compare_benchmarks(const BenchCompareOptions& options) {
  const BenchResult base = TRY(load(options.base)), now = TRY(load(options.now));
  benchmark::ComparisonOptions how;
  how.threshold = options.threshold_percent / 100;
  std::vector<std::string> warnings = benchmark::host_differences(base, now);
  std::vector<Row> rows;
  size_t unchanged = 0;
  const std::vector<Comparison> all = benchmark::compare(base, now, how);
  if (all.empty()) return make_error(ErrorKind::kNotFound, "{} and {} have no benchmark in common", options.base, options.now);
  for (const Comparison& one : all) {
    if (options.all || options.json || one.verdict != Verdict::kSame) rows.push_back({one, {}, {}});
    else ++unchanged;
  }
  const size_t missing = base.benchmarks.size() - all.size(), fresh = now.benchmarks.size() - all.size();
  if (missing != 0) warnings.push_back(fmt::format("{} benchmarks are gone", missing));
  if (fresh != 0) warnings.push_back(fmt::format("{} benchmarks are new", fresh));
  sink::FileRights rights;
  if (!options.directory.empty()) rights.below = TRY(sink::OutputDirectory::open(options.directory, rights));
  Recordings before(options.base, base, options.harness), after(options.now, now, options.harness);
  bool slower = false;
  for (Row& row : rows) {
    slower |= row.comparison.verdict == Verdict::kSlower;
    if (!is_change(row.comparison)) continue;
    const Result<void> explained =
        explain(row, before, after, base.benchmarks[row.comparison.base], now.benchmarks[row.comparison.now], rights);
    if (!explained) warnings.push_back(fmt::format("no reasons: {}", explained.error().message()));
  }
  sink::OutputFile out = TRY(sink::OutputFile::create("-", {}));
  out.write(options.json ? to_json(rows, now, warnings) : options.markdown ? to_markdown(rows, now, warnings, unchanged) : to_text(rows, now, unchanged));
  TRY(out.commit());
  if (!options.json && !options.markdown)
    for (const std::string& warning : warnings) print_warning(warning);
  return slower ? kExitGrown : kExitSuccess;
}

}  // namespace cicada::cli

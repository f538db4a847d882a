// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/bench_compare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/clean_text.h"
#include "base/file_mapping.h"
#include "benchmark/attribution.h"
#include "benchmark/comparison.h"
#include "cli/bench/bench_pages.h"
#include "cli/bench/bench_table.h"
#include "cli/bench/client_files.h"
#include "cli/exit_code.h"
#include "cli/input/report_input.h"
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
      out.runs.push_back(benchmark::count_functions(part, one.time_of(run)));
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
  std::vector<std::string> reason_lines;
  std::string page;  // differential flame graph
};

bool is_change(const Comparison& comparison) { return comparison.time.verdict == Verdict::kSlower || comparison.time.verdict == Verdict::kFaster; }

// Why; without recordings nobody knows.
Result<void> explain(Row& row, Recordings& before, Recordings& after, const Benchmark& base, const Benchmark& now,
                     const sink::FileRights& rights) {
  const Recordings::Samples a = TRY(before.samples_of(base)), b = TRY(after.samples_of(now));
  row.reasons = benchmark::find_reasons(a.runs, b.runs, row.comparison);
  TableNames names;
  for (const profile::Profile* profile : {&a.all, &b.all}) names.shorten(*profile);
  row.reason_lines = reason_texts(row.reasons, names);
  if (!rights.below) return {};
  const std::string page = fmt::format("difference-{:04}.html", row.comparison.match.now + 1);
  row.page = fmt::format("{}/{}", rights.below->path(), page);
  return write_difference(page, rights, a.all, b.all, fmt::format("{}: after compared with before", now.name));
}

nlohmann::ordered_json to_json(const benchmark::Ratio& ratio) {
  using Json = nlohmann::ordered_json;
  return {{"ratio", ratio.value}, {"interval", ratio.interval ? Json{ratio.interval->low, ratio.interval->high} : Json()}, {"p", ratio.p}};
}

std::string to_json(const std::vector<Row>& rows, const BenchResult& now, const std::vector<std::string>& warnings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Row& row : rows) {
    const Comparison& c = row.comparison;
    Json reasons = Json::array(), more = Json::array();
    for (const benchmark::Reason& reason : row.reasons) reasons.push_back({{"function", reason.function}, {"change", reason.change}, {"standard_error", reason.error}, {"with_callees", reason.with_callees}, {"sure", reason.sure}});
    for (const benchmark::Measure& one : c.more) {
      more.push_back({{"name", one.name}, {"verdict", benchmark::verdict_text(one.verdict)}, {"before", one.before}, {"after", one.after}});
      more.back().update(to_json(one.ratio));
    }
    Json json = {{"uri", now.benchmarks[c.match.now].uri}, {"verdict", benchmark::verdict_text(c.time.verdict)}};
    json.update(to_json(c.time.ratio));
    json.update({{"before_ns", c.time.before}, {"after_ns", c.time.after}, {"runs", {c.runs_before, c.runs_after}}, {"runs_needed", c.runs_needed}, {"more", more}, {"because", reasons}, {"flame_graph", row.page}});
    list.push_back(std::move(json));
  }
  return Json{{"version", 2}, {"confidence", benchmark::ComparisonOptions{}.confidence}, {"warnings", warnings}, {"benchmarks", list}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : clean_text(text)) {
    if (c == '|' || c == '`' || c == '<' || c == '*' || c == '_' || c == '[' || c == '@') out += '\\';
    out += c;
  }
  return out;
}

// How many are not listed, and why.
struct Unlisted {
  size_t same = 0, untold = 0;
  size_t runs_needed = 0;  // for all that cannot be told
  std::string text() const {
    std::string out;
    if (same != 0) out += fmt::format("{} without a change\n", same);
    if (untold != 0) out += fmt::format("{} of which it cannot be told: up to {} runs of each needed; --all shows them\n", untold, runs_needed);
    return out;
  }
};

std::string to_markdown(const std::vector<Row>& rows, const BenchResult& now, const std::vector<std::string>& warnings, const Unlisted& unlisted, double threshold) {
  std::string out = "| benchmark | before | after | ratio | 99 % interval | | because |\n|---|--:|--:|--:|:-:|---|---|\n";
  for (const Row& row : rows) {
    const Comparison& c = row.comparison;
    const auto& interval = c.time.ratio.interval;
    std::string reasons;
    for (const std::string& line : row.reason_lines) reasons += (reasons.empty() ? "" : ", ") + markdown_text(line);
    out += fmt::format("| {} | {} | {} | {:.3f} | {} | {} | {} |\n", markdown_text(now.benchmarks[c.match.now].uri), time_text(c.time.before), time_text(c.time.after), c.time.ratio.value,
                       interval ? fmt::format("{:.3f} … {:.3f}", interval->low, interval->high) : "–", verdict_text(c, threshold), reasons);
  }
  if (const std::string text = unlisted.text(); !text.empty()) out += "\n" + text;
  for (const std::string& warning : warnings) out += fmt::format("\n⚠ {}\n", markdown_text(warning));
  return out;
}

std::string to_text(const std::vector<Row>& rows, const BenchResult& now, const Unlisted& unlisted, double threshold) {
  std::string out;
  for (const Row& row : rows) {
    out += format_comparison(now.benchmarks[row.comparison.match.now].uri, row.comparison, threshold, row.reason_lines);
    if (!row.page.empty()) out += fmt::format("  difference in {}\n", row.page);
  }
  return out + unlisted.text();
}

// A number as in the table, from 1 on, or a URI.
Result<size_t> find_benchmark(const std::string& text, const BenchResult& result, const std::string& directory) {
  for (size_t i = 0; i < result.benchmarks.size(); ++i)
    if (result.benchmarks[i].uri == text) return i;
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= result.benchmarks.size()) return number - 1;
  return make_error(ErrorKind::kNotFound, "--match {}: no such benchmark in {}, which has {}; a number from 1 on, or its name", text, directory, result.benchmarks.size());
}

Result<std::vector<benchmark::Match>> find_matches(const BenchCompareOptions& options, const BenchResult& base, const BenchResult& now) {
  if (options.matches.empty()) return benchmark::match_benchmarks(base, now);
  std::vector<benchmark::Match> all;
  for (const std::string& text : options.matches) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return make_error(ErrorKind::kInvalid, "--match {}: expected BASE=NEW, a number or name on each side", text);
    all.push_back({TRY(find_benchmark(text.substr(0, equals), base, options.base)), TRY(find_benchmark(text.substr(equals + 1), now, options.now))});
  }
  return all;
}

// "3 benchmarks are gone: a, b, c"; of many the first.
void note_unmatched(const BenchResult& result, const std::vector<size_t>& matched, const char* what, std::vector<std::string>& warnings) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < result.benchmarks.size(); ++i)
    if (std::find(matched.begin(), matched.end(), i) == matched.end()) names.push_back(result.benchmarks[i].uri);
  if (names.empty()) return;
  const size_t count = names.size();
  names.resize(std::min(count, kMostNamed));
  warnings.push_back(fmt::format("{} benchmark{} {}: {}{}", count, count == 1 ? " is" : "s are", what, fmt::join(names, ", "), count > kMostNamed ? ", …" : ""));
}

}  // namespace

Result<int> compare_benchmarks(const BenchCompareOptions& options) {
  const BenchResult base = TRY(load(options.base)), now = TRY(load(options.now));
  benchmark::ComparisonOptions how;
  how.threshold = options.threshold_percent / 100;
  const std::vector<benchmark::Match> matches = TRY(find_matches(options, base, now));
  if (matches.empty())
    return make_error(ErrorKind::kNotFound, "{} and {} have no benchmark in common; --match 1=1 compares the first of both", options.base, options.now);
  std::vector<std::string> warnings = benchmark::host_differences(base, now);
  std::vector<Row> rows;
  Unlisted unlisted;
  bool slower = false, untold = false;
  for (const Comparison& one : benchmark::compare(base, now, matches, how)) {
    slower |= one.time.verdict == Verdict::kSlower;
    untold |= one.time.verdict == Verdict::kCannotTell;
    if (options.all || options.json || is_change(one) || matches.size() == 1) {
      rows.push_back({one, {}, {}, {}});
    } else {
      ++(one.time.verdict == Verdict::kSame ? unlisted.same : unlisted.untold);
      unlisted.runs_needed = std::max(unlisted.runs_needed, one.runs_needed);
    }
  }
  std::vector<size_t> of_base, of_now;
  for (const benchmark::Match& match : matches) of_base.push_back(match.base), of_now.push_back(match.now);
  note_unmatched(base, of_base, "gone", warnings);
  note_unmatched(now, of_now, "new", warnings);
  sink::FileRights rights;
  if (!options.directory.empty()) rights.below = TRY(sink::OutputDirectory::open(options.directory, rights));
  Recordings before(options.base, base, options.harness), after(options.now, now, options.harness);
  for (Row& row : rows) {
    if (!is_change(row.comparison)) continue;
    const benchmark::Match match = row.comparison.match;
    const Result<void> explained = explain(row, before, after, base.benchmarks[match.base], now.benchmarks[match.now], rights);
    if (!explained) warnings.push_back(fmt::format("no reasons: {}", explained.error().message()));
  }
  sink::OutputFile out = TRY(sink::OutputFile::create("-", {}));
  out.write(options.json ? to_json(rows, now, warnings) : options.markdown ? to_markdown(rows, now, warnings, unlisted, how.threshold) : to_text(rows, now, unlisted, how.threshold));
  TRY(out.commit());
  if (!options.json && !options.markdown)
    for (const std::string& warning : warnings) print_warning(warning);
  return slower ? kExitGrown : untold && options.strict ? kExitCannotTell : kExitSuccess;
}

}  // namespace cicada::cli

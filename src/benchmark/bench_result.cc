// SPDX-License-Identifier: Apache-2.0
#include "benchmark/bench_result.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cicada::benchmark {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kVersion = 1;
constexpr double kConfidence = 0.95;
constexpr std::string_view kSources[] = {"rounds", "client", "windows", "runs"};

Json to_json(const Summary& s) {
  return {{"count", s.count}, {"min_ns", s.min}, {"max_ns", s.max},       {"mean_ns", s.mean}, {"stdev_ns", s.stdev},
          {"q1_ns", s.q1},    {"median_ns", s.median}, {"q3_ns", s.q3}, {"outliers", s.outliers}};
}

Summary summary_of(const Json& json) {
  return {json.at("count"), json.at("min_ns"), json.at("max_ns"), json.at("mean_ns"), json.at("stdev_ns"), json.at("q1_ns"), json.at("median_ns"), json.at("q3_ns"), json.at("outliers")};
}

Json to_json(const BenchmarkRun& run) {
  Json windows = Json::array(), processes = Json::array();
  for (const Round& window : run.windows) windows.push_back({window.begin_ns, window.end_ns});
  for (const ProcessId& process : run.processes) processes.push_back({process.pid, process.start_ns});
  Json json = {{"recording", run.recording}, {"times_ns", run.times_ns}, {"windows", windows}, {"processes", processes}, {"wall_ns", run.wall_ns},
               {"cpu_ns", run.cpu_ns}, {"cpu_by", run.cpu_by_samples ? "samples" : "scheduler"}, {"samples", run.samples}, {"whole_stacks", run.whole_stacks}, {"user_stacks", run.user_stacks}, {"ambiguous", run.ambiguous}};
  if (run.told) json["client"] = to_json(*run.told);
  if (!run.resources.empty()) json["resources"] = run.resources;
  return json;
}

BenchmarkRun run_of(const Json& json, const Json& recordings) {
  BenchmarkRun run;
  run.recording = json.at("recording");
  recordings.at(run.recording);  // there is one
  run.times_ns = json.at("times_ns").get<std::vector<double>>();
  for (const Json& window : json.at("windows")) run.windows.push_back({window.at(0), window.at(1)});
  for (const Json& process : json.at("processes")) run.processes.push_back({process.at(0), process.at(1)});
  run.wall_ns = json.at("wall_ns");
  run.cpu_ns = json.at("cpu_ns");
  run.cpu_by_samples = json.value("cpu_by", "samples") == "samples";
  run.samples = json.at("samples");
  run.whole_stacks = json.at("whole_stacks");
  run.user_stacks = json.at("user_stacks");
  run.ambiguous = json.at("ambiguous");
  if (json.contains("client")) run.told = summary_of(json.at("client"));
  if (json.contains("resources")) run.resources = json.at("resources").get<std::map<std::string, double>>();
  return run;
}

BenchResult result_of(const Json& json) {
  BenchResult result;
  result.version = json.at("cicada");
  result.host = json.at("host").get<std::map<std::string, std::string>>();
  if (json.contains("environment")) {
    result.environment.software = json.at("environment").at("software").get<std::map<std::string, std::string>>();
    result.environment.libraries = json.at("environment").at("libraries").get<std::map<std::string, std::string>>();
  }
  result.warnings = json.at("warnings").get<std::vector<std::string>>();
  for (const Json& row : json.at("recordings")) result.recordings.push_back({row.at("file"), row.at("command"), row.at("exit_code")});
  for (const Json& row : json.at("benchmarks")) {
    Benchmark one;
    one.uri = row.at("uri");
    one.name = row.at("name");
    one.creator = row.at("creator");
    one.page = row.at("flame_graph");
    static const std::map<std::string, Source> kBySource = {{"rounds", Source::kRounds}, {"client", Source::kClient}, {"windows", Source::kWindows}, {"runs", Source::kRuns}};
    one.source = kBySource.at(row.at("source"));
    for (const Json& run : row.at("runs")) one.runs.push_back(run_of(run, json.at("recordings")));
    result.benchmarks.push_back(std::move(one));
  }
  for (const Json& row : json.value("comparisons", Json::array())) {
    Compared one{row.at("base"), row.at("now"), row.at("verdict"), {row.at("ratio"), std::nullopt, row.at("p")}, row.at("flame_graph")};
    if (const Json& interval = row.at("interval"); !interval.is_null()) one.ratio.interval = Interval{interval.at(0), interval.at(1)};
    result.comparisons.push_back(std::move(one));
  }
  return result;
}

}  // namespace

std::string_view source_text(Source source) { return kSources[static_cast<size_t>(source)]; }

Runs Benchmark::times() const {
  Runs all;
  for (const BenchmarkRun& run : runs) {
    if (source == Source::kClient && run.told) all.push_back({run.told->median});
    else if (!run.times_ns.empty()) all.push_back(run.times_ns);
  }
  return all;
}

double Benchmark::time_of(const BenchmarkRun& run) const {
  return source == Source::kClient && run.told ? run.told->median : summarise(run.times_ns).median;
}

Summary Benchmark::summary() const {
  const auto told = std::find_if(runs.begin(), runs.end(), [](const BenchmarkRun& run) { return run.told.has_value(); });
  if (source == Source::kClient && runs.size() == 1 && told != runs.end()) return *told->told;
  std::vector<double> all;
  for (const auto& run : times()) all.insert(all.end(), run.begin(), run.end());
  return summarise(std::move(all));
}

std::optional<Interval> Benchmark::interval() const {
  if ((source == Source::kClient && runs.size() == 1) || summary().count < 2) return std::nullopt;
  return median_interval(times(), kConfidence);
}

std::string to_json(const BenchResult& result) {
  Json recordings = Json::array(), benchmarks = Json::array();
  for (const Recording& recording : result.recordings) recordings.push_back({{"file", recording.file}, {"command", recording.command}, {"exit_code", recording.exit_code}});
  for (const Benchmark& one : result.benchmarks) {
    const std::optional<Interval> interval = one.interval();
    Json runs = Json::array();
    for (const BenchmarkRun& run : one.runs) runs.push_back(to_json(run));
    benchmarks.push_back({{"uri", one.uri}, {"name", one.name}, {"creator", one.creator}, {"source", source_text(one.source)}, {"flame_graph", one.page},
                          {"summary", to_json(one.summary())}, {"median_interval_95_ns", interval ? Json{interval->low, interval->high} : Json()}, {"runs", runs}});
  }
  Json comparisons = Json::array();
  for (const Compared& one : result.comparisons) {
    const std::optional<Interval>& interval = one.ratio.interval;
    comparisons.push_back({{"base", one.base}, {"now", one.now}, {"verdict", one.verdict}, {"ratio", one.ratio.value}, {"interval", interval ? Json{interval->low, interval->high} : Json()},
                           {"p", one.ratio.p}, {"flame_graph", one.page}});
  }
  const Json json = {{"version", kVersion}, {"cicada", result.version}, {"host", result.host},
                     {"environment", {{"software", result.environment.software}, {"libraries", result.environment.libraries}}}, {"warnings", result.warnings},
                     {"recordings", recordings}, {"benchmarks", benchmarks}, {"comparisons", comparisons}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<BenchResult> parse_bench_result(Bytes bytes, const std::string& name) {
  const Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  try {  // nlohmann's at() and get() say so by an exception
    if (json.is_object() && json.at("version") == kVersion) return result_of(json);
  } catch (const std::exception&) {
  }
  return make_error(ErrorKind::kCorrupt, "{}: not a bench.json of version {}", name, kVersion);
}

}  // namespace cicada::benchmark

// SPDX-License-Identifier: Apache-2.0
#include "benchmark/client_results.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace cicada::benchmark {
namespace {

using Json = nlohmann::json;

// 0 for what is missing, negative, or no number.
double number_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return 0;
  const double value = at->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}
uint64_t count_at(const Json& object, const char* key) { return static_cast<uint64_t>(std::min(number_at(object, key), 1e18)); }
std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}
const Json& member(const Json& object, const char* key) {
  static const Json kNothing = Json::object();
  const auto at = object.find(key);
  return at == object.end() ? kNothing : *at;
}

}  // namespace

Result<std::vector<ClientBenchmark>> parse_client_results(Bytes bytes, const std::string& name) {
  if (bytes.size() > kMaxClientFile) return make_error(ErrorKind::kLimit, "{}: larger than {} MB", name, kMaxClientFile >> 20);
  const Json file = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!file.is_object() || !member(file, "benchmarks").is_array()) return make_error(ErrorKind::kCorrupt, "{}: not a list of benchmarks", name);
  const Json &creator = member(file, "creator"), &instrument = member(file, "instrument");
  const std::string kind = instrument.is_object() ? text_at(instrument, "type") : "";
  if (kind != "walltime") return make_error(ErrorKind::kUnsupported, "{}: measured by \"{}\", not by walltime", name, kind);
  std::vector<ClientBenchmark> out;
  for (const Json& entry : member(file, "benchmarks")) {
    if (!entry.is_object()) return make_error(ErrorKind::kCorrupt, "{}: a benchmark is no object", name);
    ClientBenchmark one;
    one.name = text_at(entry, "name");
    one.uri = text_at(entry, "uri");
    if (creator.is_object()) {
      one.creator = text_at(creator, "name") + " " + text_at(creator, "version");
      one.pid = static_cast<Pid>(count_at(creator, "pid") & 0x7fffffff);
    }
    const Json& stats = member(entry, "stats");
    if (stats.is_object()) {
      Summary& s = one.per_iteration;
      s = {count_at(stats, "rounds"),      number_at(stats, "min_ns"), number_at(stats, "max_ns"),    number_at(stats, "mean_ns"), number_at(stats, "stdev_ns"),
           number_at(stats, "q1_ns"), number_at(stats, "median_ns"), number_at(stats, "q3_ns"), count_at(stats, "iqr_outlier_rounds")};
      one.iterations = std::max<uint64_t>(1, count_at(stats, "iter_per_round"));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace cicada::benchmark

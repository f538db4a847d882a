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

// Reads ahead, and stops where a document has too much in it. (A parser callback that leaves values out takes quadratic time.)
class Bounds final : public nlohmann::json_sax<Json> {
 public:
  bool exceeded() const { return left_ == 0; }
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_object(size_t) override { return count(); }
  bool key(string_t&) override { return count(); }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return count(); }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool count() { return --left_ != 0; }
  size_t left_ = kMaxClientValues;
};

Result<Json> parse_within_bounds(Bytes bytes, const std::string& name) {
  if (bytes.size() > kMaxClientFile) return make_error(ErrorKind::kLimit, "{}: larger than {} MB", name, kMaxClientFile >> 20);
  Bounds bounds;
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &bounds))
    return bounds.exceeded() ? make_error(ErrorKind::kLimit, "{}: more than {} values", name, kMaxClientValues) : make_error(ErrorKind::kCorrupt, "{}: no JSON", name);
  Json file = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!file.is_object()) return make_error(ErrorKind::kCorrupt, "{}: no JSON object", name);
  return file;
}

}  // namespace

Result<std::vector<ClientBenchmark>> parse_client_results(Bytes bytes, const std::string& name) {
  const Json file = TRY(parse_within_bounds(bytes, name));
  if (!member(file, "benchmarks").is_array()) return make_error(ErrorKind::kCorrupt, "{}: not a list of benchmarks", name);
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

Result<ClientEnvironment> parse_client_environment(Bytes bytes, const std::string& name) {
  const Json file = TRY(parse_within_bounds(bytes, name));
  ClientEnvironment out;
  if (const Json& sections = member(file, "integration_environment"); sections.is_object()) {
    for (const auto& [section, entries] : sections.items()) {
      if (!entries.is_object()) continue;
      for (const auto& [key, value] : entries.items())
        if (value.is_string()) out.software[section + " " + key] = value.get<std::string>();
    }
  }
  if (const Json& libraries = member(file, "linked_libraries"); libraries.is_object()) {
    for (const auto& [soname, library] : libraries.items()) {
      if (!library.is_object()) continue;
      std::string path = text_at(library, "path"), build_id = text_at(library, "build_id");
      if (path.starts_with('/') && !build_id.empty()) out.libraries[std::move(path)] = std::move(build_id);
    }
  }
  return out;
}

}  // namespace cicada::benchmark

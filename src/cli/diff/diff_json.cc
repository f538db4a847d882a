// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/diff_json.h"

#include "cli/diff/diff_table.h"
#include "sink/json_stream.h"

namespace cicada::cli {
namespace {

void write_side(std::string_view key, const DiffSide& side, uint64_t samples, uint64_t total, sink::JsonStream& json) {
  json.key(key);
  json.begin_object();
  json.member("file", side.file);
  json.member("samples", samples);
  json.member("total", total);
  json.member("duration_ns", side.profile.header.duration_ns);
  json.member("cpu_ns", side.profile.header.target_cpu_ns);
  json.member("runs", side.profile.header.runs);
  json.end_object();
}

void write_value(std::string_view key, const profile::DiffValue& value, double change, double p, sink::JsonStream& json) {
  json.key(key);
  json.begin_object();
  json.member("before", value.a);
  json.member("after", value.b);
  json.member("change_percent", change);
  json.member("p", p);
  json.end_object();
}

}  // namespace

void write_diff_json(const DiffSide& a, const DiffSide& b, const profile::ProfileDiff& diff, profile::Per per,
                     const std::vector<std::string>& violations, const std::function<void(std::string_view)>& write) {
  sink::JsonStream json(write);
  const double to_percent = 100 / whole_of(diff);
  json.begin_object();
  write_side("before", a, diff.samples.a, diff.total[0].a, json);
  write_side("after", b, diff.samples.b, diff.total[0].b, json);
  constexpr std::string_view kPer[] = {"share", "second", "run"};
  json.member("per", kPer[static_cast<size_t>(per)]);
  json.member("cost_before", static_cast<double>(diff.total[0].a) * diff.scale_a);
  json.member("cost_after", static_cast<double>(diff.total[0].b) * diff.scale_b);
  json.key("functions");
  json.begin_array();
  for (const profile::FunctionDelta& function : diff.functions) {
    json.begin_object();
    json.member("name", diff.tree.text(function.name));
    json.member("image", diff.tree.text(function.image));
    json.member("significant", function.significant);
    json.member("displaced", function.displaced);
    write_value("self", function.self, to_percent * function.self_change, function.self_p, json);
    write_value("total", function.total, to_percent * function.total_change, function.total_p, json);
    json.end_object();
  }
  json.end_array();
  json.key("violations");
  json.begin_array();
  for (const std::string& violation : violations) json.value(violation);
  json.end_array();
  json.end_object();
  json.flush();
  write("\n");
}

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_json.h"

#include <array>

#include "cli/report/report_functions.h"
#include "profile/completeness.h"
#include "profile/stack_totals.h"
#include "sink/json_stream.h"

namespace cicada::cli {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {"root", "group", "native", "library", "inlined", "jit", "interpreted", "kernel", "marker", "unknown"};

void write_header(const profile::ProfileSnapshot& profile, sink::JsonStream& json) {
  const profile::Header& header = profile.header;
  json.key("header");
  json.begin_object();
  json.member("host", header.host);
  json.member("kernel", header.kernel);
  json.key("command");
  json.begin_array();
  for (const std::string& word : header.command) json.value(word);
  json.end_array();
  const profile::Event& event = profile.event(main_event(profile));
  json.member("event", event.name);
  json.member("period", event.period);
  json.member("frequency_hz", event.frequency_hz);
  json.member("start_realtime_ns", header.start_realtime_ns);
  json.member("duration_ns", header.duration_ns);
  json.member("cpus", header.cpu_count);
  json.member("cpu_ns", header.target_cpu_ns);
  json.member("runs", header.runs);
  json.member("fired", event.fired);
  json.member("samples", count_samples(profile));
  json.key("outcomes");
  json.begin_object();
  for (const profile::Count& count : event.counts)
    if (count.outcome) json.member(count.name, count.value);
  json.end_object();
  const profile::Completeness whole = profile::completeness(profile);
  json.member("user_stacks", whole.of);
  json.member("complete_user_stacks", whole.complete);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : header.warnings) json.value(warning);
  json.end_array();
  json.end_object();
}

}  // namespace

void write_report_json(const profile::ProfileSnapshot& profile, const profile::CallTree& tree, const std::function<void(std::string_view)>& write) {
  sink::JsonStream json(write);
  json.begin_object();
  write_header(profile, json);
  json.member("unit", profile::unit_text(profile.event(main_event(profile)).unit));
  json.member("total", tree.total());
  json.key("functions");
  json.begin_array();
  for (const FunctionCost& cost : add_up_functions(tree)) {
    json.begin_object();
    json.member("name", tree.text(cost.name));
    json.member("image", tree.text(cost.image));
    json.member("self", cost.self);
    json.member("total", cost.total);
    json.end_object();
  }
  json.end_array();
  json.key("tree");
  json.begin_array();
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const profile::CallNode& node = tree.nodes[i];
    json.begin_object();
    if (i != 0) json.member("parent", node.parent);
    json.member("name", tree.text(node.name));
    json.member("kind", kKinds[static_cast<size_t>(node.kind)]);
    if (node.image.valid()) json.member("image", tree.text(node.image));
    if (node.file.valid()) json.member("file", tree.text(node.file));
    if (node.line != 0) json.member("line", node.line);
    json.member("self", node.self);
    json.member("total", node.total);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.flush();
  write("\n");
}

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
// The processed format of the Firefox Profiler, version 55: tables and strings of its own for each thread. Newer viewers
// upgrade it when they load it.
// Source: github.com/firefox-devtools/profiler, src/types/profile.ts as of that version; read back by its profiler-cli.
#include <unordered_map>

#include "base/seeded_hash.h"
#include "profile/frame_text.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/timeline/firefox_tables.h"
#include "sink/formats.h"
#include "sink/gzip.h"
#include "sink/json_stream.h"
#include "sink/timeline/thread_samples.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::CallTree;
using profile::Profile;
using profile::ProfileSnapshot;

constexpr int kFormatVersion = 55;

class FirefoxSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    options.event = shown_event(profile, options);
    std::vector<uint32_t> leaf_of_sample;
    const CallTree tree = profile::build_call_tree(profile, options, &leaf_of_sample);
    GzipWriter gzip(file);
    {
      JsonStream json([&](std::string_view bytes) { gzip.write(bytes); });
      json.begin_object();
      const char* const cpu_unit = cpu_delta_unit(value_unit(profile.event(*options.event)));
      write_meta(profile, profile.event(*options.event), cpu_unit, json);
      const auto lib_of_image = write_libs(profile, tree, json);
      json.key("threads");
      json.begin_array();
      const std::vector<std::string> pids = unique_pids(profile);
      for (const ThreadSamples& thread : group_by_thread(profile, leaf_of_sample)) {
        const profile::ProcessId process = profile.threads()[thread.thread.value].process;
        write_thread(profile, tree, leaf_of_sample, lib_of_image, pids[process.value], profile.event(*options.event), cpu_unit != nullptr, thread, json);
      }
      json.end_array();
      json.end_object();
    }
    gzip.finish();
  }

  // What the viewer can draw as a share of a CPU; null: something else is counted. Without it a thread that ran for one sample
  // in ten looks busy all the time, because nothing is there to say that it was not.
  static const char* cpu_delta_unit(const profile::ValueUnit& unit) {
    if (unit.type == "cpu" && unit.unit == "nanoseconds") return "ns";
    return unit.type == "cycles" ? "variable CPU cycles" : nullptr;
  }

  void write_meta(const ProfileSnapshot& profile, const profile::Event& event, const char* cpu_unit, JsonStream& json) const {
    const profile::Header& header = profile.header;
    json.key("meta");
    json.begin_object();
    json.member("version", 30);  // of the unprocessed format; required, not used
    json.member("preprocessedProfileVersion", kFormatVersion);
    json.member("interval", event.frequency_hz == 0 ? 1.0 : 1000.0 / static_cast<double>(event.frequency_hz));
    json.member("startTime", static_cast<double>(header.start_realtime_ns) / 1e6);
    json.member("processType", 0);
    json.member("product", title(profile));
    json.member("importedFrom", "cicada " + header.cicada_version);
    json.member("stackwalk", 1);
    json.member("debug", false);
    json.member("symbolicated", true);
    json.member("oscpu", header.kernel);
    json.member("platform", "Linux");
    json.member("abi", header.architecture);
    json.member("logicalCPUs", header.cpu_count);
    if (cpu_unit != nullptr) {
      json.key("sampleUnits");
      json.begin_object();
      json.member("time", "ms");
      json.member("eventDelay", "ms");
      json.member("threadCPUDelta", cpu_unit);
      json.end_object();
    }
    json.key("categories");
    json.begin_array();
    for (const FirefoxCategory& category : kFirefoxCategories) {
      json.begin_object();
      json.member("name", category.name);
      json.member("color", category.color);
      json.key("subcategories");
      json.begin_array();
      json.value("Other");
      json.end_array();
      json.end_object();
    }
    json.end_array();
    json.key("markerSchema");
    json.begin_array();
    json.end_array();
    json.end_object();
  }

  // Keyed by the path's id in `tree`.
  static std::unordered_map<uint32_t, uint32_t> write_libs(const ProfileSnapshot& profile, const CallTree& tree, JsonStream& json) {
    std::unordered_map<std::string_view, std::string_view, SeededHash> build_ids;
    for (const profile::Image& image : profile.images()) build_ids.emplace(profile.text(image.path), profile.text(image.build_id));
    std::unordered_map<uint32_t, uint32_t> lib_of_image;
    json.key("libs");
    json.begin_array();
    for (const CallNode& node : tree.nodes) {
      if (!node.image.valid() || !lib_of_image.emplace(node.image.value, static_cast<uint32_t>(lib_of_image.size())).second) continue;
      const std::string_view path = tree.text(node.image);
      const auto build_id = build_ids.find(path);
      json.begin_object();
      json.member("arch", profile.header.architecture);
      for (const char* key : {"name", "debugName"}) json.member(key, profile::file_name(path));
      for (const char* key : {"path", "debugPath"}) json.member(key, path);
      json.member("breakpadId", "");
      json.key("codeId");
      build_id == build_ids.end() || build_id->second.empty() ? json.null() : json.value(build_id->second);
      json.end_object();
    }
    json.end_array();
    return lib_of_image;
  }

  // The viewer takes equal pids for one process; two processes that had one pid are told apart as "7" and "7.2".
  static std::vector<std::string> unique_pids(const ProfileSnapshot& profile) {
    std::unordered_map<Pid, unsigned> seen;
    std::vector<std::string> pids;
    for (const profile::Process& process : profile.processes()) {
      const unsigned nth = ++seen[process.pid];
      pids.push_back(nth == 1 ? fmt::format("{}", process.pid) : fmt::format("{}.{}", process.pid, nth));
    }
    return pids;
  }

  static void write_thread(const ProfileSnapshot& profile, const CallTree& tree, const std::vector<uint32_t>& leaf_of_sample,
                           const std::unordered_map<uint32_t, uint32_t>& lib_of_image, const std::string& pid, const profile::Event& event,
                           bool cpu_deltas, const ThreadSamples& samples, JsonStream& json) {
    const profile::Thread& thread = profile.threads()[samples.thread.value];
    const profile::Process& process = profile.processes()[thread.process.value];
    const uint64_t start = profile.header.start_monotonic_ns;
    const auto milliseconds = [&](uint64_t time_ns) { return static_cast<double>(static_cast<int64_t>(time_ns - start)) / 1e6; };
    const bool timed = event.unit == profile::Unit::kNanoseconds;
    FirefoxTables tables(tree);
    json.begin_object();
    json.member("processType", "default");
    json.member("processStartupTime", 0);
    json.key("processShutdownTime");
    json.null();
    json.member("registerTime", 0);
    json.key("unregisterTime");
    json.null();
    json.key("pausedRanges");
    json.begin_array();
    json.end_array();
    json.member("name", profile.text(thread.name.valid() ? thread.name : process.name));
    json.member("isMainThread", thread.main);
    json.member("processName", profile.text(process.name));
    json.member("pid", pid);
    json.member("tid", thread.tid);
    json.key("samples");
    json.begin_object();
    json.key("stack");
    json.begin_array();
    for (const profile::SampleIndex i : samples.samples) {
      const auto stack = tables.stack_of(leaf_of_sample[i]);
      stack ? json.value(*stack) : json.null();
    }
    json.end_array();
    json.key("time");
    json.begin_array();
    for (const profile::SampleIndex i : samples.samples) json.value(milliseconds(profile.samples().time_ns[i]));
    json.end_array();
    json.key("weight");
    json.begin_array();
    for (const profile::SampleIndex i : samples.samples) {
      const uint64_t value = profile.value(i);
      timed ? json.value(static_cast<double>(value) / 1e6) : json.value(value);
    }
    json.end_array();
    if (cpu_deltas) {
      const uint64_t factor = value_unit(event).factor;
      json.key("threadCPUDelta");
      json.begin_array();
      for (const profile::SampleIndex i : samples.samples) json.value(profile.value(i) * factor);
      json.end_array();
    }
    json.member("weightType", timed ? "tracing-ms" : event.unit == profile::Unit::kBytes ? "bytes" : "samples");
    json.member("length", static_cast<uint64_t>(samples.samples.size()));
    json.end_object();
    json.key("markers");
    json.begin_object();
    for (const char* name : {"data", "name", "startTime", "endTime", "phase", "category"}) {
      json.key(name);
      json.begin_array();
      json.end_array();
    }
    json.member("length", 0);
    json.end_object();
    tables.write(json, lib_of_image);
    json.end_object();
  }
};

}  // namespace

std::unique_ptr<profile::Sink> make_firefox_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<FirefoxSink>(std::move(path), options, "Firefox profile");
}

}  // namespace cicada::sink

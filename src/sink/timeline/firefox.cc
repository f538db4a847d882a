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
    const std::vector<profile::EventId> events = options.event ? std::vector{*options.event} : sampled_events(profile);
    std::vector<Part> parts;
    for (const profile::EventId event : events) {
      options.event = event;
      Part& part = parts.emplace_back(Part{profile.event(event), {}, {}, {}});
      part.tree = profile::build_call_tree(profile, options, &part.leaf_of_sample);
    }
    GzipWriter gzip(file);
    {
      JsonStream json([&](std::string_view bytes) { gzip.write(bytes); });
      json.begin_object();
      const char* const cpu_unit = cpu_delta_unit(value_unit(parts.front().event));
      write_meta(profile, parts.front().event, cpu_unit, json);
      write_libs(profile, parts, json);
      json.key("threads");
      json.begin_array();
      const std::vector<std::string> pids = unique_pids(profile);
      for (const Part& part : parts) {
        const bool is_cpu = cpu_delta_unit(value_unit(part.event)) == cpu_unit && cpu_unit != nullptr;
        for (const ThreadSamples& thread : group_by_thread(profile, part.leaf_of_sample)) {
          const profile::ProcessId process = profile.threads()[thread.thread.value].process;
          write_thread(profile, part, parts.size() > 1, pids[process.value], is_cpu, thread, json);
        }
      }
      json.end_array();
      json.end_object();
    }
    gzip.finish();
  }

  // Of one event: threads of its own.
  struct Part {
    const profile::Event& event;
    CallTree tree;
    std::vector<uint32_t> leaf_of_sample;
    std::unordered_map<uint32_t, uint32_t> lib_of_image;  // by the path's id in `tree`
  };

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

  static void write_libs(const ProfileSnapshot& profile, std::vector<Part>& parts, JsonStream& json) {
    std::unordered_map<std::string_view, std::string_view, SeededHash> build_ids;
    for (const profile::Image& image : profile.images()) build_ids.emplace(profile.text(image.path), profile.text(image.build_id));
    std::unordered_map<std::string_view, uint32_t, SeededHash> lib_of_path;
    json.key("libs");
    json.begin_array();
    for (Part& part : parts) {
      for (const CallNode& node : part.tree.nodes) {
        if (!node.image.valid() || part.lib_of_image.contains(node.image.value)) continue;
        const std::string_view path = part.tree.text(node.image);
        const auto [lib, fresh] = lib_of_path.emplace(path, static_cast<uint32_t>(lib_of_path.size()));
        part.lib_of_image.emplace(node.image.value, lib->second);
        if (fresh) write_lib(profile.header.architecture, path, build_ids[path], json);
      }
    }
    json.end_array();
  }

  static void write_lib(std::string_view architecture, std::string_view path, std::string_view build_id, JsonStream& json) {
    json.begin_object();
    json.member("arch", architecture);
    for (const char* key : {"name", "debugName"}) json.member(key, profile::file_name(path));
    for (const char* key : {"path", "debugPath"}) json.member(key, path);
    json.member("breakpadId", "");
    json.key("codeId");
    build_id.empty() ? json.null() : json.value(build_id);
    json.end_object();
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

  static void write_thread(const ProfileSnapshot& profile, const Part& part, bool several, const std::string& pid, bool cpu_deltas,
                           const ThreadSamples& samples, JsonStream& json) {
    const profile::Event& event = part.event;
    const std::vector<uint32_t>& leaf_of_sample = part.leaf_of_sample;
    const profile::Thread& thread = profile.threads()[samples.thread.value];
    const profile::Process& process = profile.processes()[thread.process.value];
    const uint64_t start = profile.header.start_monotonic_ns;
    const auto milliseconds = [&](uint64_t time_ns) { return static_cast<double>(static_cast<int64_t>(time_ns - start)) / 1e6; };
    const bool timed = event.unit == profile::Unit::kNanoseconds;
    FirefoxTables tables(part.tree);
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
    const std::string_view shown = profile.text(thread.name.valid() ? thread.name : process.name);
    json.member("name", several ? fmt::format("{} ({})", shown, event.name) : std::string(shown));
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
    tables.write(json, part.lib_of_image);
    json.end_object();
  }
};

}  // namespace

std::unique_ptr<profile::Sink> make_firefox_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<FirefoxSink>(std::move(path), options, "Firefox profile");
}

}  // namespace cicada::sink

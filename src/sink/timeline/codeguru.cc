// SPDX-License-Identifier: Apache-2.0
// The call tree of Amazon CodeGuru Profiler's agents: children keyed by frame, each node with counters of the samples that
// ended in it, by thread state. Idle samples are always part of it: the format has a counter for them.
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/formats.h"
#include "sink/json_stream.h"

namespace cicada::sink {
namespace {

enum State : size_t { kRunnable, kWaiting, kIdle, kStateCount };
constexpr const char* kStateNames[kStateCount] = {"RUNNABLE", "WAITING", "IDLE"};

class CodeguruSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  using Counts = std::array<uint64_t, kStateCount>;

  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    options.include_idle = true;
    std::vector<uint32_t> leaf_of_sample;
    const profile::CallTree tree = profile::build_call_tree(profile, options, &leaf_of_sample);
    std::vector<Counts> counts(tree.nodes.size());
    const profile::Samples& samples = profile.samples();
    for (size_t i = 0; i < leaf_of_sample.size(); ++i) {
      if (leaf_of_sample[i] == profile::kNoNode) continue;
      const State state = profile::is_idle(samples.state[i])                              ? kIdle
                          : profile.event(samples.event[i]).spent == profile::Spent::kWaiting ? kWaiting
                                                                                            : kRunnable;
      counts[leaf_of_sample[i]][state] += profile.value(i);
    }
    JsonStream json([&](std::string_view bytes) { file.write(bytes); });
    json.begin_object();
    write_metadata(profile, json);
    json.key("callgraph");
    profile::walk(
        tree,
        [&](uint32_t at) {
          const profile::CallNode& node = tree.nodes[at];
          if (at != 0) json.key(tree.text(node.name));
          json.begin_object();
          if (node.file.valid()) json.member("file", tree.text(node.file));
          if (node.line != 0) {
            json.key("line");
            json.begin_array();
            json.value(node.line);
            json.end_array();
          }
          write_counts(counts[at], json);
          if (node.first_child == 0) return;
          json.key("children");
          json.begin_object();
        },
        [&](uint32_t at) {
          if (tree.nodes[at].first_child != 0) json.end_object();
          json.end_object();
        });
    json.end_object();
  }

  static void write_metadata(const profile::ProfileSnapshot& profile, JsonStream& json) {
    const profile::Header& header = profile.header;
    json.member("start", header.start_realtime_ns / 1000000);
    json.member("end", (header.start_realtime_ns + header.duration_ns) / 1000000);
    json.key("agentMetadata");
    json.begin_object();
    json.key("agentInfo");
    json.begin_object();
    json.member("type", "cicada");
    json.member("version", header.cicada_version);
    json.end_object();
    json.key("fleetInfo");
    json.begin_object();
    json.member("hostName", header.host);
    json.end_object();
    json.member("durationInMs", header.duration_ns / 1000000);
    json.member("numTimesSampled", count_samples(profile));
    json.key("sampleWeights");  // nanoseconds (or events) that one count stands for
    json.begin_object();
    const uint64_t weight = profile::value_unit(profile.event(main_event(profile))).factor;
    for (const char* state : kStateNames) json.member(state, weight);
    json.end_object();
    json.end_object();
  }

  static void write_counts(const Counts& counts, JsonStream& json) {
    if (counts == Counts{}) return;
    json.key("counts");
    json.begin_object();
    for (size_t state = 0; state < kStateCount; ++state)
      if (counts[state] != 0) json.member(kStateNames[state], counts[state]);
    json.end_object();
  }
};

}  // namespace

std::unique_ptr<profile::Sink> make_codeguru_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<CodeguruSink>(std::move(path), options, "CodeGuru call tree");
}

}  // namespace cicada::sink

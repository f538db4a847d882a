// SPDX-License-Identifier: Apache-2.0
// speedscope's own format, "sampled" profiles: one for each thread, frames shared. Equal stacks in a row are one entry with
// the sum of their weights, which the viewer would draw as one box anyway.
#include "profile/frame_text.h"
#include "profile/stack_totals.h"
#include "sink/file_sink.h"
#include "sink/formats.h"
#include "sink/json_stream.h"
#include "sink/timeline/thread_samples.h"

namespace cicada::sink {
namespace {

class SpeedscopeSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
    profile::CallTreeOptions options = options_.tree;
    const std::vector<profile::EventId> events = options.event ? std::vector{*options.event} : sampled_events(profile);
    std::vector<Part> parts;
    for (const profile::EventId event : events) {
      options.event = event;
      Part& part = parts.emplace_back(Part{profile.event(event), {}, {}, {}});
      part.tree = profile::build_call_tree(profile, options, &part.leaf_of_sample);
    }

    JsonStream json([&](std::string_view bytes) { file.write(bytes); });
    json.begin_object();
    json.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json.member("exporter", "cicada " + profile.header.cicada_version);
    json.member("name", title(profile));
    json.member("activeProfileIndex", 0);
    json.key("shared");
    json.begin_object();
    write_frames(parts, json);
    json.end_object();
    json.key("profiles");
    json.begin_array();
    bool any = false;
    for (const Part& part : parts) {
      for (const ThreadSamples& thread : group_by_thread(profile, part.leaf_of_sample)) {
        write_thread(profile, part, parts.size() > 1, thread, json);
        any = true;
      }
    }
    if (!any) write_profile("no samples", "none", {}, {}, parts.front(), json);  // the viewer refuses a file without profiles
    json.end_array();
    json.end_object();
  }

  // Of one event.
  struct Part {
    const profile::Event& event;
    profile::CallTree tree;
    std::vector<uint32_t> leaf_of_sample;
    std::vector<uint32_t> frame_of_node;
  };

  // Frames are nodes that agree in what people see. A stack without frames needs one, too. Each event has its own.
  static void write_frames(std::vector<Part>& parts, JsonStream& json) {
    json.key("frames");
    json.begin_array();
    uint32_t first = 0;
    for (Part& part : parts) first += write_frames(part, first, json);
    json.end_array();
  }

  static uint32_t write_frames(Part& part, uint32_t first, JsonStream& json) {
    const profile::CallTree& tree = part.tree;
    std::vector<uint32_t> node_of_frame;
    profile::ContentIndex index;
    for (uint32_t at = 0; at < tree.nodes.size(); ++at) {
      const profile::CallNode& node = tree.nodes[at];
      part.frame_of_node.push_back(first + index.find_or_append(
          mix_hash(uint64_t{node.name.value} << 32 | node.file.value, uint64_t{node.image.value} << 32 | node.line),
          [&](uint32_t frame) {
            const profile::CallNode& other = tree.nodes[node_of_frame[frame]];
            return other.name == node.name && other.file == node.file && other.line == node.line && other.image == node.image;
          },
          [&] {
            node_of_frame.push_back(at);
            return static_cast<uint32_t>(node_of_frame.size() - 1);
          }));
    }
    for (const uint32_t at : node_of_frame) {
      const profile::CallNode& node = tree.nodes[at];
      json.begin_object();
      json.member("name", at == 0 ? std::string_view("[no stack]") : tree.text(node.name));
      if (node.file.valid() || node.image.valid()) json.member("file", tree.text(node.file.valid() ? node.file : node.image));
      if (node.file.valid() && node.line != 0) json.member("line", node.line);
      json.end_object();
    }
    return static_cast<uint32_t>(node_of_frame.size());
  }

  static void write_thread(const profile::ProfileSnapshot& profile, const Part& part, bool several, const ThreadSamples& thread, JsonStream& json) {
    const profile::ValueUnit unit = profile::value_unit(part.event);
    const std::vector<uint32_t>& leaf_of_sample = part.leaf_of_sample;
    std::vector<uint32_t> leaves;
    std::vector<uint64_t> weights;
    for (const profile::SampleIndex i : thread.samples) {
      if (leaves.empty() || leaves.back() != leaf_of_sample[i]) {
        leaves.push_back(leaf_of_sample[i]);
        weights.push_back(0);
      }
      weights.back() += profile.value(i) * unit.factor;
    }
    const profile::ProcessId process = profile.threads()[thread.thread.value].process;
    const std::string name = (several ? part.event.name + ": " : "") + profile::process_text(profile, process) + " / " + profile::thread_text(profile, thread.thread);
    write_profile(name, unit.unit == "count" ? "none" : unit.unit, leaves, weights, part, json);
  }

  static void write_profile(std::string_view name, std::string_view unit, const std::vector<uint32_t>& leaves, const std::vector<uint64_t>& weights,
                            const Part& part, JsonStream& json) {
    const profile::CallTree& tree = part.tree;
    uint64_t total = 0;
    json.begin_object();
    json.member("type", "sampled");
    json.member("name", name);
    json.member("unit", unit);
    json.key("samples");
    json.begin_array();
    std::vector<uint32_t> path;
    for (const uint32_t leaf : leaves) {
      path.clear();
      for (uint32_t at = leaf; at != 0; at = tree.nodes[at].parent) path.push_back(at);
      if (path.empty()) path.push_back(0);
      json.begin_array();
      for (size_t i = path.size(); i-- > 0;) json.value(part.frame_of_node[path[i]]);
      json.end_array();
    }
    json.end_array();
    json.key("weights");
    json.begin_array();
    for (const uint64_t weight : weights) {
      json.value(weight);
      total += weight;
    }
    json.end_array();
    json.member("startValue", 0);
    json.member("endValue", total);
    json.end_object();
  }
};

}  // namespace

std::unique_ptr<profile::Sink> make_speedscope_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<SpeedscopeSink>(std::move(path), options, "speedscope profile");
}

}  // namespace cicada::sink

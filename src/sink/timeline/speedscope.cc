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
    options.event = shown_event(profile, options);
    const profile::ValueUnit unit = profile::value_unit(profile.event(*options.event));
    std::vector<uint32_t> leaf_of_sample;
    const profile::CallTree tree = profile::build_call_tree(profile, options, &leaf_of_sample);

    JsonStream json([&](std::string_view bytes) { file.write(bytes); });
    json.begin_object();
    json.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json.member("exporter", "cicada " + profile.header.cicada_version);
    json.member("name", title(profile));
    json.member("activeProfileIndex", 0);
    json.key("shared");
    json.begin_object();
    const std::vector<uint32_t> frame_of_node = write_frames(tree, json);
    json.end_object();
    json.key("profiles");
    json.begin_array();
    const auto threads = group_by_thread(profile, leaf_of_sample);
    for (const ThreadSamples& thread : threads) write_thread(profile, tree, leaf_of_sample, frame_of_node, unit, thread, json);
    if (threads.empty()) write_profile("no samples", "none", {}, {}, tree, frame_of_node, json);  // the viewer refuses a file without profiles
    json.end_array();
    json.end_object();
  }

  // Frames are nodes that agree in what people see. A stack without frames needs one, too.
  static std::vector<uint32_t> write_frames(const profile::CallTree& tree, JsonStream& json) {
    std::vector<uint32_t> frame_of_node(tree.nodes.size());
    std::vector<uint32_t> node_of_frame;
    profile::ContentIndex index;
    for (uint32_t at = 0; at < tree.nodes.size(); ++at) {
      const profile::CallNode& node = tree.nodes[at];
      frame_of_node[at] = index.find_or_append(
          mix_hash(uint64_t{node.name.value} << 32 | node.file.value, uint64_t{node.image.value} << 32 | node.line),
          [&](uint32_t frame) {
            const profile::CallNode& other = tree.nodes[node_of_frame[frame]];
            return other.name == node.name && other.file == node.file && other.line == node.line && other.image == node.image;
          },
          [&] {
            node_of_frame.push_back(at);
            return static_cast<uint32_t>(node_of_frame.size() - 1);
          });
    }
    json.key("frames");
    json.begin_array();
    for (const uint32_t at : node_of_frame) {
      const profile::CallNode& node = tree.nodes[at];
      json.begin_object();
      json.member("name", at == 0 ? std::string_view("[no stack]") : tree.text(node.name));
      if (node.file.valid() || node.image.valid()) json.member("file", tree.text(node.file.valid() ? node.file : node.image));
      if (node.file.valid() && node.line != 0) json.member("line", node.line);
      json.end_object();
    }
    json.end_array();
    return frame_of_node;
  }

  static void write_thread(const profile::ProfileSnapshot& profile, const profile::CallTree& tree, const std::vector<uint32_t>& leaf_of_sample,
                           const std::vector<uint32_t>& frame_of_node, const profile::ValueUnit& unit, const ThreadSamples& thread, JsonStream& json) {
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
    const std::string name = profile::process_text(profile, process) + " / " + profile::thread_text(profile, thread.thread);
    write_profile(name, unit.unit == "nanoseconds" ? "nanoseconds" : "none", leaves, weights, tree, frame_of_node, json);
  }

  static void write_profile(std::string_view name, std::string_view unit, const std::vector<uint32_t>& leaves, const std::vector<uint64_t>& weights,
                            const profile::CallTree& tree, const std::vector<uint32_t>& frame_of_node, JsonStream& json) {
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
      for (size_t i = path.size(); i-- > 0;) json.value(frame_of_node[path[i]]);
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

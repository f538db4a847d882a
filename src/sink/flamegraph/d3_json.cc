// SPDX-License-Identifier: Apache-2.0
// The hierarchy that d3-flame-graph and its relatives draw: {name, value, children}, value = total.
#include "sink/file_sink.h"
#include "sink/formats.h"
#include "sink/json_stream.h"

namespace cicada::sink {
namespace {

class D3JsonSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
    const profile::CallTree tree = profile::build_call_tree(profile, options_.tree);
    JsonStream json([&](std::string_view bytes) { file.write(bytes); });
    profile::walk(
        tree,
        [&](uint32_t at) {
          const profile::CallNode& node = tree.nodes[at];
          json.begin_object();
          json.member("name", at == 0 ? std::string_view("all") : tree.text(node.name));
          json.member("value", node.total);
          if (node.self != 0) json.member("self", node.self);
          if (node.image.valid()) json.member("image", tree.text(node.image));
          if (node.file.valid()) json.member("file", tree.text(node.file));
          if (node.line != 0) json.member("line", node.line);
          json.key("children");
          json.begin_array();
        },
        [&](uint32_t) {
          json.end_array();
          json.end_object();
        });
  }
};

}  // namespace

std::unique_ptr<profile::Sink> make_d3_json_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<D3JsonSink>(std::move(path), options, "call tree (JSON)");
}

}  // namespace cicada::sink

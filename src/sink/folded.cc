// SPDX-License-Identifier: Apache-2.0
#include "sink/folded.h"

#include "sink/file_sink.h"

namespace cicada::sink {
namespace {

struct Escape {
  char byte;
  std::string_view code;
};
constexpr Escape kEscapes[] = {{';', "3B"}, {'\n', "0A"}, {'\r', "0D"}, {'%', "25"}};

std::string_view find_code(std::string_view after_percent) {
  for (const Escape& escape : kEscapes)
    if (after_percent.starts_with(escape.code)) return escape.code;
  return {};
}

class FoldedSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::Profile& profile, OutputFile& file) override {
    const profile::CallTree tree = profile::build_call_tree(profile, options_.tree);
    std::vector<std::string> escaped(tree.strings.size());  // each name once, not once a node
    for (size_t i = 0; i < escaped.size(); ++i) escaped[i] = escape_folded(tree.text(profile::StringId(i)));
    std::string line;
    std::vector<size_t> lengths;  // of `line` before each open node's name
    profile::walk(
        tree,
        [&](uint32_t at) {
          const profile::CallNode& node = tree.nodes[at];
          lengths.push_back(line.size());
          if (at != 0) {
            if (!line.empty()) line += ';';
            line += escaped[node.name.value];
          }
          if (node.self == 0) return;
          file.write(line.empty() ? kNoStack : std::string_view(line));
          file.write(fmt::format(" {}\n", node.self));
        },
        [&](uint32_t) {
          line.resize(lengths.back());
          lengths.pop_back();
        });
  }
};

}  // namespace

std::string escape_folded(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (size_t i = 0; i < name.size(); ++i) {
    const Escape* found = nullptr;
    for (const Escape& escape : kEscapes)
      if (name[i] == escape.byte) found = &escape;
    if (found == nullptr || (found->byte == '%' && find_code(name.substr(i + 1)).empty())) {
      out += name[i];
    } else {
      out += '%';
      out += found->code;
    }
  }
  return out;
}

std::string unescape_folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text[i] == '%' ? find_code(text.substr(i + 1)) : std::string_view();
    if (code.empty()) {
      out += text[i];
      continue;
    }
    for (const Escape& escape : kEscapes)
      if (escape.code == code) out += escape.byte;
    i += 2;
  }
  return out;
}

std::unique_ptr<profile::Sink> make_folded_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<FoldedSink>(std::move(path), options, "folded stacks");
}

}  // namespace cicada::sink

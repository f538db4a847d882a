// SPDX-License-Identifier: Apache-2.0
#include "sink/text/folded.h"

#include <algorithm>
#include <optional>

#include "sink/file_sink.h"

namespace cicada::sink {
namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

bool is_escaped(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == ';' || c == '%' || byte < 0x20 || byte == 0x7f;
}

// The byte whose escape sequence stands in front of `rest`, behind the '%'.
std::optional<char> find_escaped(std::string_view rest) {
  if (rest.size() < 2) return std::nullopt;
  const char* const end = std::end(kHexDigits) - 1;
  const char* const high = std::find(std::begin(kHexDigits), end, rest[0]);
  const char* const low = std::find(std::begin(kHexDigits), end, rest[1]);
  if (high == end || low == end) return std::nullopt;
  const auto byte = static_cast<char>((high - kHexDigits) * 16 + (low - kHexDigits));
  return is_escaped(byte) || byte == '#' ? std::optional(byte) : std::nullopt;
}

class FoldedSink : public FileSink {
 public:
  using FileSink::FileSink;

 private:
  void write(const profile::ProfileSnapshot& profile, OutputFile& file) override {
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
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool comment = i == 0 && name[i] == '#';  // if it begins a line
    if (!comment && (!is_escaped(name[i]) || (name[i] == '%' && !find_escaped(name.substr(i + 1))))) {
      out += name[i];
    } else {
      out += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return out;
}

std::string unescape_folded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? find_escaped(text.substr(i + 1)) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

std::unique_ptr<profile::Sink> make_folded_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<FoldedSink>(std::move(path), options, "folded stacks");
}

}  // namespace cicada::sink

// SPDX-License-Identifier: Apache-2.0
#include "sink/flamegraph/packed_nodes.h"

#include <fmt/format.h>

#include "sink/flamegraph/palette.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::sink {
namespace {

constexpr uint32_t kUnset = 0xffffffff;

}  // namespace

void append_item(std::string& list, const std::string& item) { (list += list.empty() ? "" : ",") += item; }

PackedNodes::PackedNodes() { name_index(""); }

void PackedNodes::add(const profile::CallTree& tree, uint32_t at, uint32_t place, uint32_t parent) {
  const profile::CallNode& node = tree.nodes[at];
  int64_t where = -1;
  if (node.file.valid() && !tree.text(node.file).empty())
    where = name_index(node.line == 0 ? std::string(tree.text(node.file)) : fmt::format("{}:{}", tree.text(node.file), node.line));
  const uint32_t name = at == 0 ? name_index("all") : name_index(tree, node.name);
  nodes_.uleb128(place - parent);
  nodes_.uleb128(frame_index(name, name_index(tree, node.image), style_of(tree, at), where));
}

void PackedNodes::add_root_of_nothing() {
  nodes_.uleb128(0);
  nodes_.uleb128(frame_index(name_index("all"), 0, 0, -1));
}

uint32_t PackedNodes::name_index(const std::string& text) {
  const auto [entry, fresh] = name_index_.emplace(text, static_cast<uint32_t>(name_index_.size()));
  if (fresh) append_item(names_, json_text(text));
  return entry->second;
}

uint32_t PackedNodes::name_index(const profile::CallTree& tree, profile::StringId id) {
  if (!id.valid()) return 0;
  if (id.value >= index_of_tree_string_.size()) index_of_tree_string_.resize(tree.strings.size(), kUnset);
  uint32_t& index = index_of_tree_string_[id.value];
  if (index == kUnset) index = name_index(shortened(tree.text(id), kMaxPageName));
  return index;
}

uint32_t PackedNodes::frame_index(uint32_t name, uint32_t image, uint32_t style, int64_t where) {
  const std::string key = fmt::format("{},{},{},{}", name, image, style, where);
  const auto [entry, fresh] = frame_index_.emplace(key, static_cast<uint32_t>(frame_index_.size()));
  if (fresh) append_item(frames_, key);
  return entry->second;
}

}  // namespace cicada::sink

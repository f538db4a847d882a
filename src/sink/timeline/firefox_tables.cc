// SPDX-License-Identifier: Apache-2.0
#include "sink/timeline/firefox_tables.h"

#include "profile/frame_text.h"

namespace cicada::sink {
namespace {

using profile::CallNode;
using profile::NodeKind;

constexpr int kResourceLibrary = 1;

uint32_t category_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kKernel: return 1;
    case NodeKind::kNative:
    case NodeKind::kInlined: return 2;
    case NodeKind::kLibrary: return 3;
    case NodeKind::kJit: return 4;
    case NodeKind::kInterpreted: return 5;
    case NodeKind::kMarker: return 6;
    default: return 0;
  }
}

template <typename T, typename WriteOne>
void column(JsonStream& json, std::string_view name, const std::vector<T>& rows, WriteOne write_one) {
  json.key(name);
  json.begin_array();
  for (const T& row : rows) write_one(row);
  json.end_array();
}

}  // namespace

std::optional<uint32_t> FirefoxTables::stack_of(uint32_t node) {
  if (node == 0) return std::nullopt;
  std::vector<uint32_t> path;
  for (; node != 0 && !stacks_.contains(node); node = tree_.nodes[node].parent) path.push_back(node);
  for (size_t i = path.size(); i-- > 0; node = path[i]) {
    stacks_.emplace(path[i], static_cast<uint32_t>(stack_frame_.size()));
    stack_prefix_.push_back(node == 0 ? -1 : int64_t{stacks_.at(node)});
    stack_frame_.push_back(frame_of(tree_.nodes[path[i]]));
  }
  return stacks_.at(node);
}

void FirefoxTables::write(JsonStream& json, const std::unordered_map<uint32_t, uint32_t>& lib_of_image) const {
  json.key("stackTable");
  json.begin_object();
  column(json, "frame", stack_frame_, [&](uint32_t frame) { json.value(frame); });
  column(json, "prefix", stack_prefix_, [&](int64_t prefix) { prefix < 0 ? json.null() : json.value(prefix); });
  json.member("length", static_cast<uint64_t>(stack_frame_.size()));
  json.end_object();
  write_frames(json);
  write_functions(json, lib_of_image);
  json.key("nativeSymbols");
  json.begin_object();
  for (const char* name : {"libIndex", "address", "name", "functionSize"}) {
    json.key(name);
    json.begin_array();
    json.end_array();
  }
  json.member("length", 0);
  json.end_object();
  column(json, "stringArray", strings_, [&](std::string_view text) { json.value(text); });
}

void FirefoxTables::write_frames(JsonStream& json) const {
  json.key("frameTable");
  json.begin_object();
  column(json, "address", frames_, [&](const auto&) { json.value(-1); });
  column(json, "inlineDepth", frames_, [&](const auto& frame) { json.value(frame.first->kind == NodeKind::kInlined ? 1 : 0); });
  column(json, "category", frames_, [&](const auto& frame) { json.value(category_of(frame.first->kind)); });
  column(json, "subcategory", frames_, [&](const auto&) { json.value(0); });
  column(json, "func", frames_, [&](const auto& frame) { json.value(frame.second); });
  column(json, "nativeSymbol", frames_, [&](const auto&) { json.null(); });
  column(json, "innerWindowID", frames_, [&](const auto&) { json.value(0); });
  column(json, "line", frames_, [&](const auto& frame) { frame.first->line == 0 ? json.null() : json.value(frame.first->line); });
  column(json, "column", frames_, [&](const auto&) { json.null(); });
  json.member("length", static_cast<uint64_t>(frames_.size()));
  json.end_object();
}

void FirefoxTables::write_functions(JsonStream& json, const std::unordered_map<uint32_t, uint32_t>& lib_of_image) const {
  json.key("funcTable");
  json.begin_object();
  column(json, "name", funcs_, [&](const Func& func) { json.value(func.name); });
  column(json, "isJS", funcs_, [&](const Func&) { json.value(false); });
  column(json, "relevantForJS", funcs_, [&](const Func&) { json.value(false); });
  column(json, "resource", funcs_, [&](const Func& func) { func.image.valid() ? json.value(resources_.at(func.image.value)) : json.value(-1); });
  column(json, "fileName", funcs_, [&](const Func& func) { func.file_string ? json.value(*func.file_string) : json.null(); });
  column(json, "lineNumber", funcs_, [&](const Func&) { json.null(); });
  column(json, "columnNumber", funcs_, [&](const Func&) { json.null(); });
  json.member("length", static_cast<uint64_t>(funcs_.size()));
  json.end_object();
  json.key("resourceTable");
  json.begin_object();
  column(json, "lib", resource_images_, [&](const auto& image) { json.value(lib_of_image.at(image.first.value)); });
  column(json, "name", resource_images_, [&](const auto& image) { json.value(image.second); });
  column(json, "host", resource_images_, [&](const auto&) { json.null(); });
  column(json, "type", resource_images_, [&](const auto&) { json.value(kResourceLibrary); });
  json.member("length", static_cast<uint64_t>(resource_images_.size()));
  json.end_object();
}

uint32_t FirefoxTables::string_of(std::string_view text) {
  const auto [at, added] = string_index_.emplace(text, static_cast<uint32_t>(strings_.size()));
  if (added) strings_.push_back(text);
  return at->second;
}

uint32_t FirefoxTables::frame_of(const CallNode& node) {
  const uint32_t func = func_of(node);
  const bool inlined = node.kind == NodeKind::kInlined;
  return frame_index_.find_or_append(
      mix_hash(uint64_t{func} << 1 | (inlined ? 1 : 0), node.line),
      [&](uint32_t i) {
        return frames_[i].second == func && frames_[i].first->line == node.line && (frames_[i].first->kind == NodeKind::kInlined) == inlined;
      },
      [&] {
        frames_.emplace_back(&node, func);
        return static_cast<uint32_t>(frames_.size() - 1);
      });
}

uint32_t FirefoxTables::func_of(const CallNode& node) {
  const uint32_t name = string_of(tree_.text(node.name));
  return func_index_.find_or_append(
      mix_hash(uint64_t{name} << 32 | node.image.value, node.file.value),
      [&](uint32_t i) { return funcs_[i].name == name && funcs_[i].image == node.image && funcs_[i].file == node.file; },
      [&] {
        Func func{.name = name, .image = node.image, .file = node.file, .file_string = {}};
        if (node.file.valid()) func.file_string = string_of(tree_.text(node.file));
        if (node.image.valid() && resources_.emplace(node.image.value, static_cast<uint32_t>(resource_images_.size())).second)
          resource_images_.emplace_back(node.image, string_of(profile::file_name(tree_.text(node.image))));
        funcs_.push_back(func);
        return static_cast<uint32_t>(funcs_.size() - 1);
      });
}

}  // namespace cicada::sink

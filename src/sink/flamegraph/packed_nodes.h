// SPDX-License-Identifier: Apache-2.0
// The names, frames and nodes of a call tree as the scripts of a page read them (docs/viewer.md): they refer to what stands before them only, so
// those of a tree that grows are sent on by what is new at the end of each.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "profile/call_tree.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

inline constexpr size_t kMaxPageName = 4096;  // bytes. One 100 kB C++ name must not fill the file; nobody reads further

// One more item of a JSON array that has no brackets yet.
void append_item(std::string& list, const std::string& item);

class PackedNodes {
 public:
  PackedNodes();
  // Node `at`, which becomes the one with the number `place`, below `parent`.
  void add(const profile::CallTree& tree, uint32_t at, uint32_t place, uint32_t parent);
  // Of a page without any: its root.
  void add_root_of_nothing();

  const std::string& names() const { return names_; }    // JSON, without the brackets; so is frames()
  const std::string& frames() const { return frames_; }  // four numbers each
  const std::string& nodes() const { return nodes_.bytes(); }
  size_t frame_count() const { return frame_index_.size(); }
  size_t name_count() const { return name_index_.size(); }

 private:
  uint32_t name_index(const std::string& text);
  uint32_t name_index(const profile::CallTree& tree, profile::StringId id);
  uint32_t frame_index(uint32_t name, uint32_t image, uint32_t style, int64_t where);

  std::vector<uint32_t> index_of_tree_string_;
  std::unordered_map<std::string, uint32_t, SeededHash> name_index_, frame_index_;
  std::string names_, frames_;
  ByteWriter nodes_;
};

}  // namespace cicada::sink

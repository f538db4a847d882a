// SPDX-License-Identifier: Apache-2.0
// The tables of one thread of a Firefox profile (firefox.cc), filled as its samples are written.
// Index spaces: our node -> stack, our node's look -> frame, (name, image, file) -> func.
#pragma once
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/call_tree.h"
#include "profile/content_index.h"
#include "sink/json_stream.h"

namespace cicada::sink {

struct FirefoxCategory {
  const char* name;
  const char* color;
};
// "grey" must be there: it is the default.
inline constexpr FirefoxCategory kFirefoxCategories[] = {{"Other", "grey"}, {"Kernel", "orange"}, {"Native", "blue"}, {"Library", "lightblue"},
                                                         {"JIT", "green"}, {"Interpreted", "yellow"}, {"Marker", "magenta"}};

class FirefoxTables {
 public:
  // Borrows the tree, and its texts until write().
  explicit FirefoxTables(const profile::CallTree& tree) : tree_(tree) {}

  // Index into the stack table; nothing for the empty stack.
  std::optional<uint32_t> stack_of(uint32_t node);
  void write(JsonStream& json, const std::unordered_map<uint32_t, uint32_t>& lib_of_image) const;

 private:
  struct Func {
    uint32_t name = 0;
    profile::StringId image, file;
    std::optional<uint32_t> file_string;
  };

  void write_frames(JsonStream& json) const;
  void write_functions(JsonStream& json, const std::unordered_map<uint32_t, uint32_t>& lib_of_image) const;
  uint32_t string_of(std::string_view text);
  uint32_t frame_of(const profile::CallNode& node);
  uint32_t func_of(const profile::CallNode& node);

  const profile::CallTree& tree_;
  std::unordered_map<uint32_t, uint32_t> stacks_;
  std::vector<uint32_t> stack_frame_;
  std::vector<int64_t> stack_prefix_;
  std::vector<std::pair<const profile::CallNode*, uint32_t>> frames_;  // func
  std::vector<Func> funcs_;
  std::vector<std::pair<profile::StringId, uint32_t>> resource_images_;  // name
  std::unordered_map<uint32_t, uint32_t> resources_;                     // by image
  std::unordered_map<std::string_view, uint32_t, SeededHash> string_index_;
  std::vector<std::string_view> strings_;
  profile::ContentIndex frame_index_, func_index_;
};

}  // namespace cicada::sink

// SPDX-License-Identifier: Apache-2.0
// Strings stored once, in one arena. Views stay valid for the table's life, moves included. The empty string is kNone.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "profile/content_index.h"
#include "profile/ids.h"

namespace cicada::profile {

class StringTable {
 public:
  StringId intern(std::string_view text);
  std::string_view text(StringId id) const { return id.valid() ? texts_[id.value] : std::string_view(); }
  size_t size() const { return texts_.size(); }

 private:
  static constexpr size_t kBlockBytes = 64 << 10;
  std::string_view store(std::string_view text);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // in the last shared block
  size_t free_bytes_ = 0;
  std::vector<std::string_view> texts_;
  ContentIndex index_;
};

}  // namespace cicada::profile

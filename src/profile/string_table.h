// SPDX-License-Identifier: Apache-2.0
// Strings stored once, in one arena. Views stay valid for the table's life.
#pragma once
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/ids.h"

namespace cicada::profile {

class StringTable {
 public:
  StringId intern(std::string_view text);
  std::string_view text(StringId id) const { return id.valid() ? texts_[id.value] : std::string_view(); }
  size_t size() const { return texts_.size(); }

 private:
  static constexpr size_t kBlockBytes = 64 << 10;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = kBlockBytes;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, StringId> index_;
};

}  // namespace cicada::profile

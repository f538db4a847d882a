// SPDX-License-Identifier: Apache-2.0
// Strings stored once, in blocks that copies share. Views stay valid as long as one copy lives. The empty string is kNone.
#pragma once
#include <memory>
#include <string_view>

#include "profile/content_index.h"
#include "profile/ids.h"
#include "profile/log.h"

namespace cicada::profile {

// The texts, without the index that finds them. Threads: as Log.
class StringLog {
 public:
  std::string_view text(StringId id) const { return id.valid() ? texts_[id.value] : std::string_view(); }
  size_t size() const { return texts_.size(); }
  StringId append(std::string_view text);  // not empty
  size_t bytes() const { return texts_.bytes() + block_bytes_; }
  size_t text_bytes() const { return text_bytes_; }

 private:
  static constexpr size_t kBlockBytes = 64 << 10;
  std::string_view store(std::string_view text);

  Log<std::shared_ptr<char[]>, 6> blocks_;
  Log<std::string_view, 12> texts_;
  char* free_ = nullptr;  // the writer's, in the last shared block
  size_t free_bytes_ = 0, block_bytes_ = 0, text_bytes_ = 0;
};

// With the index: one writer, who reads as well.
class StringTable {
 public:
  StringId intern(std::string_view text) { return intern_in(log_, index_, text); }
  static StringId intern_in(StringLog& log, ContentIndex& index, std::string_view text);
  std::string_view text(StringId id) const { return log_.text(id); }
  size_t size() const { return log_.size(); }
  const StringLog& log() const { return log_; }

 private:
  StringLog log_;
  ContentIndex index_;
};

}  // namespace cicada::profile

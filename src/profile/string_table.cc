// SPDX-License-Identifier: Apache-2.0
#include "profile/string_table.h"

#include <cstring>

namespace cicada::profile {

StringId StringTable::intern_in(StringLog& log, ContentIndex& index, std::string_view text) {
  if (text.empty()) return {};
  return StringId(index.find_or_append(
      hash_text(text), [&](uint32_t stored) { return log.text(StringId(stored)) == text; }, [&] { return log.append(text).value; }));
}

StringId StringLog::append(std::string_view text) {
  CHECK(texts_.size() < StringId::kNone);
  texts_.push_back(store(text));
  text_bytes_ += text.size();
  return StringId(texts_.size() - 1);
}

// A text larger than a quarter block gets a block of its own, so that little of a block is ever wasted.
std::string_view StringLog::store(std::string_view text) {
  if (text.size() > kBlockBytes / 4) {
    blocks_.push_back(std::make_shared_for_overwrite<char[]>(text.size()));
    block_bytes_ += text.size();
    std::memcpy(blocks_.back().get(), text.data(), text.size());
    return {blocks_.back().get(), text.size()};
  }
  if (text.size() > free_bytes_) {
    blocks_.push_back(std::make_shared_for_overwrite<char[]>(kBlockBytes));
    block_bytes_ += kBlockBytes;
    free_ = blocks_.back().get();
    free_bytes_ = kBlockBytes;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view stored(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return stored;
}

}  // namespace cicada::profile

// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/copied_stack.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cicada::unwind {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

std::optional<uint64_t> CopiedStack::find_word(uint64_t address) const {
  uint64_t word = 0;
  if (address < begin_ || address > ~uint64_t{0} - sizeof word) return std::nullopt;
  const auto at = find_offset(address), last = find_offset(address + sizeof word - 1);  // a word may lie in two pages
  if (!at || !last || *last - *at != sizeof word - 1) return std::nullopt;
  std::memcpy(&word, bytes_.data() + *at, sizeof word);
  return word;
}

CopiedStack CopiedStack::part(uint64_t address, size_t size) const {
  const auto offset = address < begin_ ? std::nullopt : find_offset(address);
  if (!offset) return *this;
  uint64_t end = address;
  do end = (end / kPage + 1) * kPage;
  while (end - address < size && find_offset(end));  // pages that follow each other do so in the copy
  return {bytes_.subspan(*offset, std::min({end - address, uint64_t{size}, bytes_.size() - *offset})), address, ~uint64_t{0}};
}

std::optional<uint64_t> CopiedStack::find_offset(uint64_t address) const {
  const uint64_t page = address / kPage - begin_ / kPage;
  uint64_t offset = address - begin_;
  if (~pages_ != 0) {
    if (page >= 64 || (pages_ >> page & 1) == 0) return std::nullopt;
    const uint64_t below = (uint64_t{1} << page) - 1;
    const auto missing = static_cast<uint64_t>(std::popcount(~pages_ & below));
    offset -= missing * kPage;
    if (page != 0 && (pages_ & 1) == 0) offset += begin_ % kPage;  // the first page would have begun there
  }
  if (offset >= bytes_.size()) return std::nullopt;
  return offset;
}

}  // namespace cicada::unwind

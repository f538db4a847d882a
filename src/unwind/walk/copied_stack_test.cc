// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/copied_stack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cicada::unwind {
namespace {

constexpr uint64_t kBegin = 0x7ffc00001f00;  // 256 bytes below the end of its page

// Each word is its own address. `pages`: that are in the copy, the first of which begins at kBegin.
std::vector<uint8_t> copy_of(uint64_t pages) {
  std::vector<uint8_t> bytes;
  for (uint64_t page = 0; page < 64; ++page) {
    if ((pages >> page & 1) == 0) continue;
    const uint64_t first = page == 0 ? kBegin : (kBegin & ~uint64_t{4095}) + 4096 * page;
    for (uint64_t address = first; address < (first & ~uint64_t{4095}) + 4096; address += 8) {
      const auto* word = reinterpret_cast<const uint8_t*>(&address);
      bytes.insert(bytes.end(), word, word + 8);
    }
  }
  return bytes;
}

TEST(CopiedStack, APartHasTheSameWords) {
  for (const uint64_t pages : {~uint64_t{0} >> 48, uint64_t{0b1011}, uint64_t{0b1101}, uint64_t{0b1111}, uint64_t{0b0111'0111}}) {
    const std::vector<uint8_t> bytes = copy_of(pages);
    const CopiedStack whole(bytes, kBegin, pages);
    for (uint64_t from = kBegin - 64; from < kBegin + 10 * 4096; from += 168) {
      for (const size_t size : {64, 4096, 6000}) {
        const CopiedStack part = whole.part(from, size);
        const bool is_whole = part.bytes().data() == whole.bytes().data() && part.bytes().size() == whole.bytes().size();
        EXPECT_TRUE(is_whole || (part.begin() == from && part.bytes().size() <= size));
        for (uint64_t at = from; at < from + 8192; at += 8) {
          const auto word = part.find_word(at);
          if (word) {
            EXPECT_EQ(*word, *whole.find_word(at));
          } else {
            // Not in the whole either, or behind its end: so many bytes, or a page that is missing.
            bool gap = !whole.find_word(at) || at + 8 > from + size;
            for (uint64_t before = from; before < at && !gap; before += 8) gap = !whole.find_word(before);
            EXPECT_TRUE(gap) << std::hex << pages << " " << from << " " << at;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace cicada::unwind

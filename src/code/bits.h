// SPDX-License-Identifier: Apache-2.0
// A bit for each byte of code. Other than std::vector<bool> it finds the next one that is clear without looking at each.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace cicada::code {

class Bits {
 public:
  // All clear.
  void assign(size_t size) { words_.assign(size / 64 + 1, 0); }
  bool operator[](size_t at) const { return (words_[at / 64] >> at % 64 & 1) != 0; }
  void set(size_t begin, size_t end) {
    while (begin < end) {
      const size_t first = begin % 64, count = std::min(64 - first, end - begin);
      words_[begin / 64] |= (~uint64_t{0} >> (64 - count)) << first;
      begin += count;
    }
  }
  // From `at` on; `end`: there is none before.
  size_t next_clear(size_t at, size_t end) const {
    while (at < end) {
      const auto set = static_cast<size_t>(std::countr_one(words_[at / 64] >> at % 64));
      if (set < 64 - at % 64) return std::min(at + set, end);
      at += 64 - at % 64;
    }
    return end;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace cicada::code

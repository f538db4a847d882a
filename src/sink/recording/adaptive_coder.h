// SPDX-License-Identifier: Apache-2.0
// Binary arithmetic coding with models that learn: a yes/no that is nearly always the same costs a hundredth of a bit, where bytes for
// zstd cost an eighth at least. A table is coded by one function template for both directions: every call is given the value and returns
// it; a Decoder ignores what it is given. So writer and reader cannot disagree.
//
//   template <typename Coder> void code(Coder& coder, Row& row) { row.line = code_number(coder, line_model, row.line); }
//
// Integers only: the same on every machine. Source: the coder and counters of lpaq1 (Mahoney 2007), 16 bits of probability.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "base/byte_cursor.h"

namespace cicada::sink {

// How probable a one is, of 65,536, and how much was seen: the first answers teach most.
class BitModel {
 public:
  uint32_t one() const { return one_; }
  void learn(bool bit) {
    const int32_t target = bit ? 65535 : 0;
    one_ = static_cast<uint16_t>(one_ + (target - one_) * kRate[seen_] / 65536);
    if (one_ < kLeast) one_ = kLeast;
    if (one_ > 65536 - kLeast) one_ = 65536 - kLeast;
    if (seen_ + 1U < kRate.size()) ++seen_;
  }

 private:
  static constexpr uint16_t kLeast = 48;  // 0.001 bits
  static constexpr std::array<int32_t, 64> kRate = [] {
    std::array<int32_t, 64> rate{};
    for (int i = 0; i < 64; ++i) rate[static_cast<size_t>(i)] = 65536 * 2 / (2 * i + 3);
    return rate;
  }();
  uint16_t one_ = 32768;
  uint8_t seen_ = 0;
};

class Encoder {
 public:
  static constexpr bool kDecodes = false;
  bool bit(BitModel& model, bool value) {
    code(model.one(), value);
    model.learn(value);
    return value;
  }
  bool code(uint32_t one, bool value) {
    const uint32_t middle = low_ + static_cast<uint32_t>((uint64_t{high_ - low_} * one) >> 16);
    if (value) high_ = middle;
    else low_ = middle + 1;
    for (; ((low_ ^ high_) >> 24) == 0; low_ <<= 8, high_ = high_ << 8 | 255) bytes_.push_back(static_cast<char>(high_ >> 24));
    return value;
  }
  bool failed() const { return false; }
  // Once, at the end.
  const std::string& finish() {
    for (int i = 0; i < 4; ++i, low_ <<= 8) bytes_.push_back(static_cast<char>(low_ >> 24));
    return bytes_;
  }

 private:
  uint32_t low_ = 0, high_ = 0xffffffff;
  std::string bytes_;
};

// After the end of its bytes it yields anything, and failed() is true.
class Decoder {
 public:
  static constexpr bool kDecodes = true;
  explicit Decoder(Bytes bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) shift();
  }
  bool bit(BitModel& model, bool = false) {
    const bool value = code(model.one());
    model.learn(value);
    return value;
  }
  bool code(uint32_t one, bool = false) {
    const uint32_t middle = low_ + static_cast<uint32_t>((uint64_t{high_ - low_} * one) >> 16);
    const bool value = at_ <= middle;
    if (value) high_ = middle;
    else low_ = middle + 1;
    for (; ((low_ ^ high_) >> 24) == 0; low_ <<= 8, high_ = high_ << 8 | 255) shift();
    return value;
  }
  bool failed() const { return next_ > bytes_.size(); }

 private:
  void shift() {
    at_ = at_ << 8 | (next_ < bytes_.size() ? bytes_[next_] : 0U);
    ++next_;
  }
  Bytes bytes_;
  size_t next_ = 0;
  uint32_t low_ = 0, high_ = 0xffffffff, at_ = 0;
};

// Numbers of any size: how many bits, then the three below the highest, learnt; the rest as they are.
struct NumberModel {
  std::array<BitModel, 128> length;
  std::array<std::array<BitModel, 8>, 65> top;
};

template <typename Coder>
uint64_t code_number(Coder& coder, NumberModel& model, uint64_t value) {
  const auto bits = static_cast<uint32_t>(std::bit_width(value));
  uint32_t node = 1;
  for (int i = 6; i >= 0; --i) node = node << 1 | (coder.bit(model.length[node], (bits >> i & 1) != 0) ? 1U : 0U);
  uint32_t left = node & 127;
  if (left == 0) return 0;
  if (left > 64) left = 64;  // hostile
  auto& top = model.top[left];
  uint64_t result = 1;
  for (uint32_t context = 1; --left != 0;) {
    const bool bit = (value >> (left - 1) & 1) != 0;
    const bool got = context < 8 ? coder.bit(top[context], bit) : coder.code(32768, bit);
    if (context < 8) context = context << 1 | (got ? 1U : 0U);
    result = result << 1 | (got ? 1U : 0U);
  }
  return result;
}

}  // namespace cicada::sink

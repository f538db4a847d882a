// SPDX-License-Identifier: Apache-2.0
// Text for adaptive_coder.h: the last 1–6 bytes, the word so far, and what followed the longest repetition each guess the next bit; a mixer
// learns whom to trust. Names of compilers' functions: 1.6 bits a byte where zstd -19 takes 1.9; 0.65 us a byte.
//
// Integers only. Source: lpaq1 (Mahoney 2007): nibble-wise hashed slots with a check, logistic mixing.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "sink/recording/adaptive_coder.h"

namespace cicada::sink {

// Probabilities of 12 bits and their logits, in 1/256: logit = ln(p / (1 - p)).
namespace logistic {
constexpr std::array<int, 33> kSquash = {1,    2,    3,    6,    10,   16,   27,   45,   73,   120,  194,  310,  488,  747,  1101, 1546, 2047,
                                         2549, 2994, 3348, 3607, 3785, 3901, 3975, 4024, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094};
constexpr int squash(int logit) {
  if (logit > 2047) return 4095;
  if (logit < -2047) return 1;
  const int low = logit & 127;
  const auto at = static_cast<size_t>((logit >> 7) + 16);
  return (kSquash[at] * (128 - low) + kSquash[at + 1] * low + 64) >> 7;
}
constexpr std::array<int16_t, 4096> kStretch = [] {
  std::array<int16_t, 4096> stretch{};
  int reached = 0;
  for (int logit = -2047; logit <= 2047; ++logit) {
    const int p = squash(logit);
    for (; reached <= p; ++reached) stretch[static_cast<size_t>(reached)] = static_cast<int16_t>(logit);
  }
  for (; reached < 4096; ++reached) stretch[static_cast<size_t>(reached)] = 2047;
  return stretch;
}();
}  // namespace logistic

template <typename Coder>
class TextCoder {
 public:
  // `bytes`: about how much text there will be; it decides the memory, 1–16 MB.
  TextCoder(Coder& coder, uint64_t bytes) : coder_(coder) {
    const uint64_t blocks = std::clamp<uint64_t>(std::bit_ceil(bytes + 1), 1 << 10, 1 << 15);
    block_mask_ = static_cast<uint32_t>(blocks - 1);
    const size_t bytes_of_blocks = kOrders * blocks * sizeof(Block);
    blocks_.reset(static_cast<Block*>(::operator new(bytes_of_blocks, kHugePage)));
    ::madvise(blocks_.get(), bytes_of_blocks, MADV_HUGEPAGE);
    std::memset(static_cast<void*>(blocks_.get()), 0, bytes_of_blocks);
    for (auto& weights : weights_) weights.fill(kFirstWeight);
    positions_.resize(1 << 16);
  }

  uint8_t code(uint8_t byte) {
    uint32_t node = 1;
    for (int bit = 7; bit >= 0; --bit) {
      if (bit == 7 || bit == 3) find_blocks(node);
      const uint32_t in_nibble = bit >= 4 ? node : (node & ((1U << (3 - bit)) - 1)) | 1U << (3 - bit);
      node = node << 1 | (code_bit(in_nibble, node, bit, (byte >> bit & 1) != 0) ? 1U : 0U);
    }
    append(static_cast<uint8_t>(node));
    return static_cast<uint8_t>(node);
  }

 private:
  static constexpr size_t kOrders = 6, kInputs = kOrders + 2;  // and the repetition, and the bytes without context
  static constexpr int kFirstWeight = 20000;                    // of 65,536
  static constexpr uint32_t kMinMatch = 5, kMaxMatch = 31;
  struct Slot {
    uint16_t one = 2048 << 4;
    uint8_t seen = 0;
    uint8_t check = 0;  // of the first slot of a block, whose probability is not used; 0: of no context
  };
  struct alignas(64) Block {  // a cache line
    std::array<Slot, 16> slots;
  };
  // 12 MB, looked up at random: in small pages each look-up missed the TLB as well.
  static constexpr std::align_val_t kHugePage{2 << 20};
  struct FreeBlocks {
    void operator()(Block* blocks) const { ::operator delete(blocks, kHugePage); }
  };

  // 2^24 / (2 n + 3), rounded up: n times the answer to a division by that, exactly, below 2^17. Six divisions a bit were a third of the time.
  static constexpr std::array<uint32_t, 21> kShare = [] {
    std::array<uint32_t, 21> share{};
    for (uint32_t n = 0; n < share.size(); ++n) share[n] = ((1U << 24) + 2 * n + 2) / (2 * n + 3);
    return share;
  }();
  static constexpr uint32_t share_of(uint32_t value, uint32_t seen) { return static_cast<uint32_t>(uint64_t{value} * kShare[seen] >> 24); }

  static uint32_t mix(uint32_t a, uint32_t b) {
    uint32_t h = a * 0x2f0b4c47U + b * 0x9e3779b1U;
    h ^= h >> 15;
    h *= 0x85ebca6bU;
    return h ^ h >> 13;
  }

  void find_blocks(uint32_t node) {
    std::array<uint32_t, kOrders> hashes;
    for (size_t i = 0; i < kOrders; ++i) {
      hashes[i] = mix(contexts_[i], node);
      found_[i] = &blocks_.get()[i * (size_t{block_mask_} + 1) + (hashes[i] & block_mask_)];
      __builtin_prefetch(found_[i], 1);
    }
    for (size_t i = 0; i < kOrders; ++i) {
      Block& block = *found_[i];
      const auto check = static_cast<uint8_t>(hashes[i] >> 24 | 1);
      if (block.slots[0].check == check) continue;
      block = Block();
      block.slots[0].check = check;
    }
  }

  bool code_bit(uint32_t in_nibble, uint32_t node, int bit, bool value) {
    std::array<int, kInputs> inputs{};
    size_t known = 0, sure = 0;  // the longest context that was seen, how often
    for (size_t i = 0; i < kOrders; ++i) {
      const Slot& slot = found_[i]->slots[in_nibble];
      const int seen = slot.seen != 0;  // no branches: which of them are taken is what nobody knows beforehand
      inputs[i] = logistic::kStretch[slot.one >> 4] & -seen;
      known = seen != 0 ? i + 1 : known;
      sure = seen != 0 ? size_t{slot.seen >= 2} + size_t{slot.seen >= 4} : sure;
    }
    const bool follows = match_ != 0 && (text_[match_] | 256U) >> (bit + 1) == node;
    const bool guess = follows && (text_[match_] >> bit & 1) != 0;
    BitModel* trust = follows ? &match_model_[std::min(match_length_, kMaxMatch)] : nullptr;
    if (trust != nullptr) inputs[kOrders] = logistic::kStretch[std::min<uint32_t>(trust->one() >> 4, 4095)] * (guess ? 1 : -1);
    BitModel& plain = plain_[node];
    inputs[kOrders + 1] = logistic::kStretch[std::min<uint32_t>(plain.one() >> 4, 4095)];
    auto& weights = weights_[(known * 3 + sure) * 3 + (!follows ? 0U : match_length_ < 12 ? 1U : 2U)];
    int64_t sum = 0;
    for (size_t i = 0; i < kInputs; ++i) sum += int64_t{inputs[i]} * weights[i];
    const int one = logistic::squash(static_cast<int>(std::clamp<int64_t>(sum >> 16, -2047, 2047)));
    const bool got = coder_.code(static_cast<uint32_t>(one) << 4, value);
    const int error = ((got ? 4095 : 0) - one) * 14;
    for (size_t i = 0; i < kInputs; ++i) weights[i] = std::clamp(weights[i] + ((inputs[i] * error + (1 << 15)) >> 16), -kMaxWeight, kMaxWeight);
    const uint32_t all = got ? 65535 : 0;
    for (Block* block : found_) {
      Slot& slot = block->slots[in_nibble];
      const uint32_t mirrored = slot.one ^ all;  // of 65,535: the probability of what was not
      slot.one = static_cast<uint16_t>((mirrored - share_of(mirrored * 2, slot.seen)) ^ all);
      slot.seen = static_cast<uint8_t>(slot.seen + (slot.seen < kMaxSeen));
    }
    if (trust != nullptr) trust->learn(got == guess);
    plain.learn(got);
    return got;
  }

  void append(uint8_t byte) {
    if (match_ != 0) {
      if (text_[match_] == byte) ++match_, ++match_length_;
      else match_ = match_length_ = 0;
    }
    text_.push_back(byte);
    const size_t size = text_.size();
    uint32_t hash = 0;
    for (uint32_t n = 1; n <= kMaxOrder; ++n) {
      if (n < size) hash = mix(hash + n, text_[size - n]);
      if (n <= 4) contexts_[n - 1] = hash;
      if (n == kMinMatch) recent_ = hash;
      if (n == kMaxOrder) contexts_[4] = hash;
    }
    const bool letter = (byte | 32) >= 'a' && (byte | 32) <= 'z';
    word_ = letter ? mix(word_ + 7, byte) : 0;
    contexts_[5] = mix(word_, letter ? 77 : byte);
    uint32_t& position = positions_[recent_ & (positions_.size() - 1)];
    if (match_ == 0 && position != 0) {
      match_ = position;
      match_length_ = 0;
      while (match_length_ < kMaxMatch && match_length_ < match_ && text_[match_ - 1 - match_length_] == text_[size - 1 - match_length_]) ++match_length_;
      if (match_length_ < kMinMatch) match_ = match_length_ = 0;
    }
    position = static_cast<uint32_t>(size);
  }

  static constexpr uint32_t kMaxOrder = 6;
  static constexpr uint8_t kMaxSeen = 20;
  static constexpr int kMaxWeight = 1 << 20;

  Coder& coder_;
  uint32_t block_mask_ = 0;
  std::unique_ptr<Block, FreeBlocks> blocks_;  // of one order after the other
  std::array<Block*, kOrders> found_{};        // where the contexts' slots are
  std::array<uint32_t, kOrders> contexts_{};
  std::array<std::array<int, kInputs>, (kOrders + 1) * 9> weights_;
  std::array<BitModel, 256> plain_;
  std::array<BitModel, kMaxMatch + 1> match_model_;
  std::vector<uint8_t> text_ = {0};  // a position is never 0
  std::vector<uint32_t> positions_;
  uint32_t match_ = 0, match_length_ = 0, recent_ = 0, word_ = 0;
};

}  // namespace cicada::sink

// SPDX-License-Identifier: Apache-2.0
// Distinct rules, numbered in order of appearance; rule 0 is CFA_NONE. In front of the index is a direct-mapped cache that answers
// 19 of 20 questions from the first-level cache of the processor; the index holds numbers only.
#pragma once
#include <array>
#include <cstring>
#include <vector>

#include "abi/unwind_table.h"
#include "base/seeded_hash.h"
#include "unwind/rows/unsupported_reason.h"

namespace cicada::unwind {

// An unwind_rule as two words.
struct RuleWords {
  uint64_t low = 0, high = 0;
  bool operator==(const RuleWords&) const = default;
};

class RuleSet {
 public:
  static constexpr uint32_t kMaxRules = 0xffff;  // a block's dictionary names them in 16 bits
  RuleSet() : slots_(size_t{1} << kFirstBits, kFree) { insert_slowly({}, hash(0, 0)); }

  // The rule's number. When there are too many, the last number stands for all the others, as an unsupported rule.
  uint32_t insert(uint64_t low, uint64_t high) {
    Recent& recent = recent_[(low * 0xff51afd7ed558ccd + high * 0x9e3779b97f4a7c15) >> (64 - kRecentBits)];
    if (recent.low == low && recent.high == high) [[likely]] return recent.id;
    return insert_missed(low, high, recent);
  }
  uint32_t insert(const unwind_rule& rule) {
    uint64_t words[2];
    std::memcpy(words, &rule, sizeof words);
    return insert(words[0], words[1]);
  }
  size_t size() const { return rules_.size(); }
  RuleWords words(size_t id) const { return rules_[id]; }
  unwind_rule rule(size_t id) const {
    unwind_rule rule;
    static_assert(sizeof rule == sizeof(RuleWords));
    std::memcpy(&rule, &rules_[id], sizeof rule);
    return rule;
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  static constexpr unsigned kFirstBits = 12, kRecentBits = 9;
  struct Recent {  // all zero is rule 0, as it should be
    uint64_t low = 0, high = 0;
    uint32_t id = 0;
  };
  size_t hash(uint64_t low, uint64_t high) const { return mix_hash(low, high) >> shift_; }
  [[gnu::noinline]] uint32_t insert_missed(uint64_t low, uint64_t high, Recent& recent) {
    recent = {low, high, insert_slowly({low, high}, hash(low, high))};
    return recent.id;
  }
  uint32_t insert_slowly(RuleWords rule, size_t slot) {
    for (;; slot = (slot + 1) & (slots_.size() - 1)) {
      const uint32_t id = slots_[slot];
      if (id == kFree) return append(rule, slot);
      if (rules_[id] == rule) return id;
    }
  }
  uint32_t append(RuleWords rule, size_t slot) {
    const auto id = static_cast<uint32_t>(rules_.size());
    if (id == kMaxRules) return kMaxRules - 1;
    rules_.push_back(rule);
    if (id == kMaxRules - 1) {
      rules_.back() = {CFA_UNSUPPORTED | uint64_t{static_cast<uint8_t>(UnsupportedReason::kTooManyRules)} << 8, 0};
      return id;
    }
    slots_[slot] = id;
    if (4 * rules_.size() > slots_.size()) grow();
    return id;
  }
  void grow() {
    shift_ -= 2;
    slots_.assign(slots_.size() * 4, kFree);
    for (uint32_t id = 0; id < rules_.size(); ++id) {
      size_t slot = hash(rules_[id].low, rules_[id].high);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  std::array<Recent, 1 << kRecentBits> recent_{};
  std::vector<RuleWords> rules_;
  std::vector<uint32_t> slots_;
  unsigned shift_ = 64 - kFirstBits;
};

}  // namespace cicada::unwind

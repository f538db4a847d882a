// SPDX-License-Identifier: Apache-2.0
// Rows of a compiled table, overwritten where other means than CFI know better.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "unwind/heuristics/code_rule.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Numbers of rules, those of the table first.
class RuleNumbers {
 public:
  explicit RuleNumbers(std::vector<unwind_rule>& rules) : rules_(rules) {
    for (uint32_t i = 0; i < rules.size(); ++i) numbers_.emplace(key(rules[i]), i);
  }
  uint32_t find_or_add(const unwind_rule& rule) {
    const Key wanted = key(rule);
    Recent& recent = recent_[(wanted[0] * 0x9e3779b97f4a7c15 + wanted[1]) >> 56];
    if (recent.number != 0 && recent.key == wanted) return recent.number;
    recent = {wanted, find_or_add_slowly(rule)};
    return recent.number;
  }

 private:
  using Key = std::array<uint64_t, 2>;
  struct Recent {
    Key key{};
    uint32_t number = 0;
  };
  uint32_t find_or_add_slowly(const unwind_rule& rule) {
    const auto [at, added] = numbers_.try_emplace(key(rule), static_cast<uint32_t>(rules_.size()));
    if (!added) return at->second;
    if (rules_.size() >= 0xffff) return at->second = 0;
    rules_.push_back(rule);
    return at->second;
  }
  static Key key(const unwind_rule& rule) {
    Key words;
    static_assert(sizeof words == sizeof rule);
    std::memcpy(words.data(), &rule, sizeof rule);
    return words;
  }
  std::vector<unwind_rule>& rules_;
  std::map<Key, uint32_t> numbers_;
  std::array<Recent, 256> recent_;  // Go programs have a million ranges and some hundred rules
};

// Overwrites [begin, end) of each patch. Patches are sorted. In place: libLLVM has 700,000 rows and a dozen patches, and copying its rows
// one by one into new memory was a fifth of the time of its table (2026-11-21).
class RowEditor {
 public:
  RowEditor(std::vector<Row>& rows, std::vector<unwind_rule>& rules) : rows_(rows), numbers_(rules) {}

  void overwrite(const CodeRule& patch);
  void finish();

 private:
  // Rows [from, to) give way to the fresh ones from number `fresh` to those of the next edit; `shift` is where the rows behind go.
  struct Edit {
    uint32_t from = 0, to = 0, fresh = 0;
    int64_t shift = 0;
    int64_t growth(const Edit& next) const { return int64_t{next.fresh} - fresh - (int64_t{to} - from); }
  };
  bool has_fresh() const { return fresh_.size() > edits_.back().fresh; }
  uint32_t rule_in_front() const {
    if (has_fresh()) return fresh_.back().rule;
    return edits_.back().from == 0 ? 0 : rows_[edits_.back().from - 1].rule;
  }
  void append(uint32_t begin, uint32_t rule) {
    if (has_fresh() && fresh_.back().begin == begin) fresh_.pop_back();
    if (rule_in_front() != rule) fresh_.push_back({begin, rule});
  }
  size_t first_row_from(uint32_t begin) const;
  // The next edit begins at row `end`; of the rows before it only the first can be the same as what is in front of it.
  void keep_until(size_t end);
  void begin_edit(size_t at) {
    edits_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at), static_cast<uint32_t>(fresh_.size()), 0});
  }
  std::vector<Row>& rows_;
  RuleNumbers numbers_;
  std::vector<Row> fresh_;
  std::vector<Edit> edits_{Edit{}};
};

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// Rows of a table, overwritten where other means than CFI know better.
#pragma once
#include <cstdint>
#include <vector>

#include "unwind/rows/code_rule.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Overwrites [begin, end) of each patch. Patches are sorted. In place: libLLVM has 700,000 rows and a dozen patches, and copying its rows
// one by one into new memory was a fifth of the time of its table (2026-11-21).
class RowEditor {
 public:
  explicit RowEditor(RowTable& table) : rows_(table.rows), rules_(table.rules) {}

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
  RuleSet& rules_;
  std::vector<Row> fresh_;
  std::vector<Edit> edits_{Edit{}};
};

}  // namespace cicada::unwind

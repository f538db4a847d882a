// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows/row_editor.h"

#include <algorithm>
#include <cstring>

namespace cicada::unwind {

void RowEditor::overwrite(const CodeRule& patch) {
  if (has_fresh() && patch.begin < fresh_.back().begin) return;  // overlaps the one before
  keep_until(first_row_from(patch.begin));
  append(patch.begin, rules_.insert(patch.rule));
  auto& to = edits_.back().to;
  while (to < rows_.size() && rows_[to].begin <= patch.end) ++to;
  append(patch.end, to == 0 ? 0 : rows_[to - 1].rule);
}

void RowEditor::finish() {
  keep_until(rows_.size());
  begin_edit(rows_.size());
  const size_t old_size = rows_.size();
  int64_t shift = 0;
  for (size_t i = 0; i + 1 < edits_.size(); ++i) edits_[i].shift = shift += edits_[i].growth(edits_[i + 1]);
  const auto new_size = static_cast<size_t>(static_cast<int64_t>(old_size) + shift);
  rows_.resize(std::max(old_size, new_size));
  // Kept rows between two edits. What moves up goes first from the last on, then what moves down: nothing is run over.
  const auto move = [&](size_t i) {
    Row* const begin = rows_.data() + edits_[i].to;
    std::memmove(begin + edits_[i].shift, begin, (edits_[i + 1].from - edits_[i].to) * sizeof(Row));
  };
  for (size_t i = edits_.size() - 1; i-- > 0;) if (edits_[i].shift > 0) move(i);
  for (size_t i = 0; i + 1 < edits_.size(); ++i) if (edits_[i].shift < 0) move(i);
  for (size_t i = 0; i + 1 < edits_.size(); ++i) {
    std::copy(fresh_.begin() + edits_[i].fresh, fresh_.begin() + edits_[i + 1].fresh,
              rows_.begin() + edits_[i].from + (i == 0 ? 0 : edits_[i - 1].shift));
  }
  rows_.resize(new_size);
}

size_t RowEditor::first_row_from(uint32_t begin) const {
  const auto at = std::lower_bound(rows_.begin() + edits_.back().to, rows_.end(), begin,
                                   [](const Row& row, uint32_t address) { return row.begin < address; });
  return static_cast<size_t>(at - rows_.begin());
}

void RowEditor::keep_until(size_t end) {
  Edit& edit = edits_.back();
  if (edit.to < end && rows_[edit.to].rule == rule_in_front()) ++edit.to;
  if (edit.to < end) begin_edit(end);
}

}  // namespace cicada::unwind

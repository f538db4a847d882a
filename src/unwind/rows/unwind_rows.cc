// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows/unwind_rows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "unwind/rows/row_table.h"
#include "unwind/rows/unsupported_reason.h"

namespace cicada::unwind {

bool is_valid(const unwind_rule& rule) {
  if (rule.cfa_kind == CFA_UNSUPPORTED) return rule.cfa_reg < static_cast<uint8_t>(UnsupportedReason::kCount);
  return rule.cfa_kind < CFA_UNSUPPORTED || rule.cfa_kind == CFA_FRAME_POINTER;
}

// Rules and trailer go behind the rows, which stay where they are: 5 MB of libLLVM.
UnwindRows::UnwindRows(RowTable&& table) : own_(std::move(table.rows)) {
  const Trailer trailer{table.base.value, static_cast<uint32_t>(own_.size()), static_cast<uint32_t>(table.rules.size()), table.stats};
  const size_t rules_at = own_.size(), trailer_at = rules_at + table.rules.size() * sizeof(unwind_rule) / sizeof(Row);
  own_.resize(trailer_at + sizeof trailer / sizeof(Row));
  for (size_t i = 0; i < table.rules.size(); ++i) {
    const unwind_rule rule = table.rules.rule(i);
    std::memcpy(own_.data() + rules_at + i * sizeof rule / sizeof(Row), &rule, sizeof rule);
  }
  std::memcpy(own_.data() + trailer_at, &trailer, sizeof trailer);
  static_assert(sizeof(unwind_rule) % sizeof(Row) == 0 && sizeof(Trailer) % sizeof(Row) == 0);
  CHECK(view({reinterpret_cast<const uint8_t*>(own_.data()), own_.size() * sizeof(Row)}));
}

// False: the counts do not add up.
bool UnwindRows::view(Bytes bytes) {
  if (bytes.size() < sizeof trailer_ || reinterpret_cast<uintptr_t>(bytes.data()) % alignof(Trailer) != 0) return false;
  std::memcpy(&trailer_, bytes.data() + bytes.size() - sizeof trailer_, sizeof trailer_);
  const uint64_t row_bytes = uint64_t{trailer_.row_count} * sizeof(Row), rule_bytes = uint64_t{trailer_.rule_count} * sizeof(unwind_rule);
  if (bytes.size() - sizeof trailer_ != row_bytes + rule_bytes) return false;
  bytes_ = bytes;
  rows_ = {reinterpret_cast<const Row*>(bytes.data()), trailer_.row_count};
  rules_ = {reinterpret_cast<const unwind_rule*>(bytes.data() + row_bytes), trailer_.rule_count};
  return true;
}

Result<UnwindRows> UnwindRows::check(Bytes bytes) {
  const auto corrupt = [](const char* what) { return make_error(ErrorKind::kCorrupt, "unwind rows: {}", what); };
  UnwindRows table;
  if (bytes.empty()) return table;
  if (!table.view(bytes)) return corrupt("sizes that do not add up");
  const uint64_t base = table.trailer_.base;
  if (base % UNWIND_CHUNK_BYTES != 0 || base > ~uint64_t{0} - UINT32_MAX) return corrupt("addresses that wrap around");
  const std::span rows = table.rows_;
  const std::span rules = table.rules_;
  if (rules.empty() || rules.size() > RuleSet::kMaxRules || rules[0].cfa_kind != CFA_NONE) return corrupt("no rules, or too many");
  if (!std::all_of(rules.begin(), rules.end(), is_valid)) return corrupt("a rule of an unknown kind");
  if (!std::all_of(rows.begin(), rows.end(), [&](const Row& row) { return row.rule < rules.size(); })) return corrupt("a row without its rule");
  const auto descends = [](const Row& a, const Row& b) { return a.begin >= b.begin; };
  if (std::adjacent_find(rows.begin(), rows.end(), descends) != rows.end()) return corrupt("rows that do not ascend");
  return table;
}

Result<UnwindRows> UnwindRows::adopt(std::vector<Row> bytes) {
  UnwindRows table = TRY(check(Bytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size() * sizeof(Row))));
  table.own_ = std::move(bytes);
  return table;
}

const unwind_rule& UnwindRows::find(LinkAddr address) const {
  static constexpr unwind_rule kNone{};
  if (address < base() || rows_.empty() || address - base() < rows_.front().begin || address - base() > 0xffffffff) return kNone;
  const auto offset = static_cast<uint32_t>(address - base());
  const auto after = std::upper_bound(rows_.begin(), rows_.end(), offset, [](uint32_t a, const Row& row) { return a < row.begin; });
  return rules_[std::prev(after)->rule];
}

}  // namespace cicada::unwind

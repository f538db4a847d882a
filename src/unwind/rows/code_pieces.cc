// SPDX-License-Identifier: Apache-2.0
#include "unwind/rows/code_pieces.h"

#include <algorithm>
#include <set>

#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

// Of unread rows, as far as they are in [begin, end).
std::vector<Range<LinkAddr>> find_unread(const UnwindRows& rows, Range<LinkAddr> within) {
  std::vector<Range<LinkAddr>> found;
  const std::span<const Row> all = rows.rows();
  if (all.empty() || within.end <= rows.base()) return found;
  const auto offset = [&](LinkAddr at) { return at <= rows.base() ? 0 : std::min<uint64_t>(at - rows.base(), UINT32_MAX); };
  const uint64_t begin = offset(within.begin), end = offset(within.end);
  auto row = std::upper_bound(all.begin(), all.end(), begin, [](uint64_t at, const Row& other) { return at < other.begin; });
  if (row != all.begin()) --row;
  for (; std::next(row) < all.end() && row->begin < end; ++row) {  // the last row is of what is behind the code
    if (!is_unread(rows.rules()[row->rule])) continue;
    const uint64_t from = std::max<uint64_t>(row->begin, begin), to = std::min<uint64_t>(std::next(row)->begin, end);
    if (from < to) found.push_back({rows.base() + from, rows.base() + to});
  }
  return found;
}

RowTable table_of(const UnwindRows& rows) {
  RowTable table;
  table.base = rows.base();
  table.stats = rows.stats();
  std::vector<uint32_t> ids;
  for (const unwind_rule& rule : rows.rules()) ids.push_back(table.rules.insert(rule));
  table.rows.assign(rows.rows().begin(), rows.rows().end());
  for (Row& row : table.rows) row.rule = ids[row.rule];
  return table;
}

// Ascending, disjoint. What goes on is one range: a function may lie across the begin of the next.
void append(std::vector<Range<LinkAddr>>& ranges, Range<LinkAddr> range) {
  if (!ranges.empty() && range.begin <= ranges.back().end) ranges.back().end = std::max(ranges.back().end, range.end);
  else ranges.push_back(range);
}

}  // namespace

CodePieces::CodePieces(const UnwindRows& rows) {
  if (rows.rows().size() > kMaxRows) return;
  std::vector<Range<LinkAddr>> unread = find_unread(rows, {rows.base(), LinkAddr(UINT64_MAX)});
  if (unread.size() > kMaxRanges) unread.resize(kMaxRanges);
  pieces_ = code::Pieces(std::move(unread), rows.base(), rows.stats().covered_bytes);
}

CodeQuestion CodePieces::question(const UnwindRows& rows, std::span<const LinkAddr> addresses) const {
  CodeQuestion question{rows.stats().covered_bytes, rows.base(), {}, {}, {}};
  std::set<uint64_t> numbers;
  for (const LinkAddr address : addresses) {
    if (numbers.size() < kMaxBytes / pieces_.bytes() && is_unread(rows.find(address))) numbers.insert(pieces_.number_of(address));
  }
  for (const uint64_t number : numbers) {
    for (const Range<LinkAddr>& unread : find_unread(rows, pieces_.range_of(number))) question.pieces.push_back(unread);
    for (const Range<LinkAddr>& range : pieces_.code_of(number)) append(question.code, range);
  }
  if (!question.pieces.empty()) question.all = pieces_.all();
  return question;
}

UnwindRows with_code(const UnwindRows& rows, const CodeQuestion& question, std::span<const CodeRule> rules) {
  RowTable table = table_of(rows);
  const unwind_rule otherwise = rule_of_kind(CFA_FRAME_POINTER);
  RowEditor editor(table);
  auto rule = rules.begin();
  for (const Range<LinkAddr>& piece : question.pieces) {
    auto at = static_cast<uint32_t>(piece.begin - table.base);
    const auto end = static_cast<uint32_t>(piece.end - table.base);
    while (at < end) {
      while (rule != rules.end() && rule->end <= at) ++rule;
      const uint32_t from = rule == rules.end() ? end : std::clamp(rule->begin, at, end);
      if (at < from) editor.overwrite({at, from, otherwise});
      at = from;
      if (at == end) break;
      const uint32_t to = std::min(rule->end, end);
      editor.overwrite({at, to, rule->rule});
      at = to;
    }
  }
  editor.finish();
  return UnwindRows(std::move(table));
}

}  // namespace cicada::unwind

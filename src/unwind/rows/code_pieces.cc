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
  unread_ = find_unread(rows, {rows.base(), LinkAddr(UINT64_MAX)});
  uint64_t unread_bytes = 0;
  for (const Range<LinkAddr>& range : unread_) unread_bytes += range.size();
  if (rows.stats().covered_bytes < unread_bytes / (kCompiledShare - 1)) {
    piece_bytes_ = kCompiledPieceBytes;
    around_bytes_ = kCompiledAroundBytes;
  }
  if (unread_.size() > kMaxRanges) unread_.resize(kMaxRanges);
}

CodeQuestion CodePieces::question(const UnwindRows& rows, std::span<const LinkAddr> addresses) const {
  CodeQuestion question{rows.stats().covered_bytes, rows.base(), {}, {}, {}};
  std::set<uint64_t> numbers;
  for (const LinkAddr address : addresses) {
    if (numbers.size() < kMaxBytes / piece_bytes_ && is_unread(rows.find(address))) numbers.insert((address - rows.base()) / piece_bytes_);
  }
  for (const uint64_t number : numbers) {
    const Range<LinkAddr> piece{rows.base() + number * piece_bytes_, rows.base() + std::min<uint64_t>((number + 1) * piece_bytes_, UINT32_MAX)};
    for (const Range<LinkAddr>& unread : find_unread(rows, piece)) question.pieces.push_back(unread);
    const Range<LinkAddr> around{piece.begin - std::min(piece.begin - rows.base(), around_bytes_), piece.end + std::min(UINT64_MAX - piece.end.value, around_bytes_)};
    auto range = std::lower_bound(unread_.begin(), unread_.end(), around.begin, [](const Range<LinkAddr>& at, LinkAddr begin) { return at.end <= begin; });
    for (; range != unread_.end() && range->begin < around.end; ++range) append(question.code, {std::max(range->begin, around.begin), std::min(range->end, around.end)});
  }
  if (!question.pieces.empty()) question.all = unread_;
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

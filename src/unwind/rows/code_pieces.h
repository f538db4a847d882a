// SPDX-License-Identifier: Apache-2.0
// Code without CFI that rows leave unread: it is read in pieces, when stacks ask for them.
//
//   rows of the CFI, with unread code ──▶ addresses in it ──▶ question() ──▶ read_code(), in a parser ──▶ with_code() ──▶ rows again
//
// Threads: any.
#pragma once
#include <span>
#include <vector>

#include "code/pieces.h"
#include "unwind/rows/code_rule.h"
#include "unwind/rows/unwind_rows.h"
#include "unwind/rows/unsupported_reason.h"

namespace cicada::unwind {

inline unwind_rule unread_rule() {
  unwind_rule rule = rule_of_kind(CFA_UNSUPPORTED);
  rule.cfa_reg = static_cast<uint8_t>(UnsupportedReason::kUnread);
  return rule;
}
inline bool is_unread(const unwind_rule& rule) { return rule.cfa_kind == CFA_UNSUPPORTED && rule.cfa_reg == static_cast<uint8_t>(UnsupportedReason::kUnread); }

struct CodeQuestion {
  uint64_t covered_bytes = 0;              // of the image, by CFI
  LinkAddr base;                           // of the rules' offsets
  std::vector<Range<LinkAddr>> pieces;     // what rules are wanted of; ascending, disjoint
  std::vector<Range<LinkAddr>> code;       // what is looked at: the pieces, and what is around them; the same
  std::vector<Range<LinkAddr>> all;        // what there is of such code; the same
};

class CodePieces {
 public:
  static constexpr uint64_t kMaxBytes = 2 << 20;   // of the pieces of one question: the first that are asked for; who asks for more asks again
  static constexpr size_t kMaxRanges = 1 << 16;    // of unread code: the first are looked at
  static constexpr size_t kMaxRows = 4 << 20;

  // `rows`, of which nothing has been read yet. Empty: nothing is unread, or there are more than kMaxRows: writing them anew would cost too much.
  explicit CodePieces(const UnwindRows& rows);
  bool empty() const { return pieces_.all().empty(); }
  uint64_t piece_bytes() const { return pieces_.bytes(); }
  // Of what is still unread in `rows` at these addresses. No pieces: nothing is.
  CodeQuestion question(const UnwindRows& rows, std::span<const LinkAddr> addresses) const;

 private:
  code::Pieces pieces_;
};

// `rows` with these rules for the pieces; code of theirs that has no rule is walked by frame pointer. Rules (ascending) are cut to
// the pieces, and to what the rule before has left.
UnwindRows with_code(const UnwindRows& rows, const CodeQuestion& question, std::span<const CodeRule> rules);

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// cfi/ makes rows of call-frame information: FdeList reads the FDE headers and puts them into address order, RowShard runs their programs
// in that order, RuleState is the rule that a program is building.
//
// A shard is a part of an image's FDEs. Shards are compiled independently of each other, each by its own thread, and joined:
// the result is the same as from one part, byte by byte, since rules are numbered in the order of their first row.
//
//   RowShard first(fdes, gaps…), second(…);
//   first.run(); second.run();   // any threads
//   first.append(second);
#pragma once
#include <cstdint>
#include <vector>

#include "unwind/cfi/fde_list.h"
#include "unwind/cfi/rule_state.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Aligned, since parts lie side by side and each writes to its own for every row: in one cache line they took as long as one alone.
class alignas(128) RowShard {
 public:
  // What all parts of an image have in common. Borrows.
  struct Image {
    const FdeList& fdes;
    const std::vector<Range<LinkAddr>>& code_sections;  // ascending
    LinkAddr base, end;                                 // of code
    uint64_t max_rows;
  };
  // FDEs [first, last). The last part says what is behind all of them, too.
  RowShard(const Image& image, size_t first, size_t last) : image_(image), first_(first), last_(last) {}

  void run();
  // The part that follows this one.
  void append(const RowShard& next);

  bool too_many_rows() const { return too_many_rows_; }
  RowTable& table() { return table_; }
  // That no FDE covers and that are not padding.
  std::vector<Range<LinkAddr>>& gaps() { return gaps_; }
  // Functions whose CFI may be wrong, ascending. Of 512 bytes and more, and it says that the stack pointer never moves: CFA = rsp + 8 all over.
  const std::vector<Range<LinkAddr>>& unmoved() const { return unmoved_; }
  // It says that the stack pointer is farther below all over (512 bytes and more), or at a last instruction that is as short as a return.
  const std::vector<Range<LinkAddr>>& moved() const { return moved_; }

 private:
  class Program;
  static constexpr uint32_t kNoRule = ~uint32_t{0};
  // A CIE's state after its initial instructions, computed when first needed.
  struct Start {
    bool known = false, valid = false;
    RuleState state;
  };
  void append_gap(Range<LinkAddr> gap);
  void compile(const FdeList::Fde& fde);
  void doubt(Range<LinkAddr> code, const Program& program);
  const Start& start_of(const FdeList::Fde& fde);
  void append_row(uint32_t begin, uint32_t rule) {
    if (last_rule_ == rule) return;
    table_.rows.push_back({begin, rule});
    last_rule_ = rule;
  }

  Image image_;
  size_t first_, last_;
  std::vector<std::vector<Start>> starts_;  // by section, CIE
  RowTable table_;
  std::vector<Range<LinkAddr>> gaps_, unmoved_, moved_;
  uint32_t last_rule_ = 0;
  bool too_many_rows_ = false;
};

}  // namespace cicada::unwind

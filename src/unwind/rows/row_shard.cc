// SPDX-License-Identifier: Apache-2.0
// The programs are run in the order of addresses, so that rows come out sorted and merged, each written once. Nothing is allocated per FDE.
//
// Padding: up to 15 bytes between two FDEs carry the first one's last rule (nothing executes there, and two rows are saved per
// function); a longer gap is CFA_NONE.
#include "unwind/rows/row_shard.h"

#include <algorithm>

#include "dwarf/cfi_program.h"
#include "unwind/heuristics/heuristic_rules.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxPadding = 15;
constexpr uint64_t kCodeGap = 64;      // shorter gaps are padding of functions aligned to a cache line
constexpr size_t kMaxRemembered = 64;  // DW_CFA_remember_state; compilers nest it once

// A CIE's initial instructions: nothing to restore, remember or advance.
struct InitialProgram : RuleState {
  using RuleState::RuleState;
  bool restore(uint64_t) { return false; }
  bool remember() { return false; }
  bool restore_state() { return false; }
  bool row(LinkAddr, LinkAddr) { return false; }
};

// What profilers with rsp and rbp rules only would follow: no other CFA register, no dereference, no signal frames.
bool is_simple(const unwind_rule& rule) {
  if (rule.cfa_kind == CFA_OUTERMOST || rule.cfa_kind == CFA_PLT) return true;
  return rule.cfa_kind == CFA_OFFSET && (rule.cfa_reg == 6 || rule.cfa_reg == 7) && rule.via_base == 0;
}

}  // namespace

// One FDE's run: the state of dwarf/cfi_program.h.
class RowShard::Program : public RuleState {
 public:
  Program(RowShard& shard, const RuleState& initial, bool undo)
      : RuleState(initial), shard_(shard), initial_(&initial), undo_(undo) {}

  bool restore(uint64_t reg) {
    restore_from(reg, *initial_);
    return true;
  }
  bool remember() {
    if (remembered_.size() == kMaxRemembered) return false;
    remembered_.push_back(*this);
    return true;
  }
  bool restore_state() {
    if (remembered_.empty()) return false;
    static_cast<RuleState&>(*this) = remembered_.back();
    remembered_.pop_back();
    return true;
  }
  [[gnu::always_inline]] bool row(LinkAddr begin, LinkAddr end) {
    uint64_t low, high;
    copy_rule(low, high);
    const uint32_t rule = shard_.rules_.insert(low, high);
    ++rows_;
    if (shard_.image_.counting) [[unlikely]] count(rule, end - begin);
    shard_.append_row(static_cast<uint32_t>(begin - shard_.image_.base), rule);
    return true;
  }
  uint64_t rows() const { return rows_; }

 private:
  void count(uint32_t rule, uint64_t size) {
    if (rule >= shard_.uses_.size()) shard_.uses_.resize(rule + 64);
    RuleUse& use = shard_.uses_[rule];
    use.bytes += undo_ ? -size : size;
    use.rows += undo_ ? ~uint64_t{0} : 1;
  }
  RowShard& shard_;
  const RuleState* initial_;
  std::vector<RuleState> remembered_;
  uint64_t rows_ = 0;
  bool undo_;
};

void RowShard::run() {
  const FdeList& fdes = image_.fdes;
  for (const FdeList::Section& section : fdes.sections()) starts_.emplace_back(section.reader.cies().size());
  if (fdes.size() != 0) {  // address space; what is not written costs nothing. The first part will hold the others, too.
    const size_t count = first_ == 0 ? fdes.size() : last_ - first_;
    rows_.reserve(std::min<uint64_t>(kMaxRows, fdes.section_bytes() / 5 * count / fdes.size() + 16));
  }
  uint64_t covered_end = 0;
  if (first_ != 0) {
    covered_end = fdes[first_ - 1].end;
    last_rule_ = kNoRule;
  }
  for (size_t i = first_; i < last_; ++i) {
    const FdeList::Fde fde = fdes[i];
    if (fde.begin > covered_end + kMaxPadding) {
      append_gap({image_.base + covered_end, image_.base + fde.begin});
    } else if (fde.begin >= covered_end + kSmallestPatternGap && fde.begin % 16 != 0) {
      gaps_.push_back({image_.base + covered_end, image_.base + fde.begin});
    }
    compile(fde);
    covered_end = fde.end;
    if (rows_.size() > kMaxRows) {
      too_many_rows_ = true;
      return;
    }
  }
  if (last_ == fdes.size()) append_gap({image_.base + covered_end, image_.end});
}

void RowShard::append(const RowShard& next) {
  too_many_rows_ = too_many_rows_ || next.too_many_rows_ || rows_.size() + next.rows_.size() > kMaxRows;
  if (too_many_rows_) return;
  std::vector<uint32_t> numbers(next.rules_.size());
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    const RuleWords rule = next.rules_.words(i);
    numbers[i] = rules_.insert(rule.low, rule.high);
  }
  for (const Row& row : next.rows_) append_row(row.begin, numbers[row.rule]);
  gaps_.insert(gaps_.end(), next.gaps_.begin(), next.gaps_.end());
  stats_.fdes += next.stats_.fdes;
  stats_.cfi_rows += next.stats_.cfi_rows;
  stats_.covered_bytes += next.stats_.covered_bytes;
  stats_.malformed_fdes += next.stats_.malformed_fdes;
}

void RowShard::move_to(RowTable& table) {
  finish_stats();
  table.stats = stats_;
  table.rows = std::move(rows_);
  table.rules.reserve(rules_.size() + 2);
  for (size_t i = 0; i < rules_.size(); ++i) table.rules.push_back(rules_.rule(i));
}

// No rule, but by frame pointer where there is code: hand-written assembly, V8's built-ins.
void RowShard::append_gap(Range<LinkAddr> gap) {
  gaps_.push_back(gap);
  const auto offset = [&](LinkAddr address) { return static_cast<uint32_t>(address - image_.base); };
  LinkAddr done = gap.begin;
  if (gap.size() >= kCodeGap && image_.fdes.size() != 0) {
    const auto& ranges = image_.code_sections;
    auto part = std::lower_bound(ranges.begin(), ranges.end(), gap.begin,
                                 [](const Range<LinkAddr>& range, LinkAddr begin) { return range.end <= begin; });
    for (; part != ranges.end() && part->begin < gap.end; ++part) {
      const Range<LinkAddr> code{std::max(part->begin, gap.begin), std::min(part->end, gap.end)};
      if (code.size() < kCodeGap) continue;
      if (done < code.begin) append_row(offset(done), 0);
      append_row(offset(code.begin), rules_.insert(CFA_FRAME_POINTER, 0));
      done = code.end;
    }
  }
  if (done < gap.end) append_row(offset(done), 0);
}

const RowShard::Start& RowShard::start_of(const FdeList::Fde& fde) {
  Start& start = starts_[fde.section][fde.cie];
  if (!start.known) {
    start.known = true;
    const FdeList::Section& section = image_.fdes.sections()[fde.section];
    const dwarf::Cie& cie = section.reader.cie(fde.cie);
    InitialProgram initial(cie.signal_frame);
    start.valid = cie.return_register == 16 && dwarf::run_cfi_program(section.section, cie, cie.program_begin, cie.program_end, {},
                                                                      initial) == dwarf::ProgramResult::kDone;
    start.state = initial;
  }
  return start;
}

void RowShard::compile(const FdeList::Fde& fde) {
  const FdeList::Section& section = image_.fdes.sections()[fde.section];
  const Start& start = start_of(fde);
  const dwarf::Cie& cie = section.reader.cie(fde.cie);
  const Range<LinkAddr> code{image_.base + fde.begin, image_.base + fde.end};
  const size_t rows_before = rows_.size();
  const uint32_t rule_before = last_rule_;
  bool good = start.valid;
  if (good) {
    Program program(*this, start.state, false);
    good = dwarf::run_cfi_program(section.section, cie, fde.program_begin, fde.program_end, code, program) ==
           dwarf::ProgramResult::kDone;
    if (good) stats_.cfi_rows += program.rows();
  }
  ++stats_.fdes;
  stats_.covered_bytes += code.size();
  if (good) return;
  if (start.valid && image_.counting) {  // take back what it had counted before it went wrong
    Program program(*this, start.state, true);
    dwarf::run_cfi_program(section.section, cie, fde.program_begin, fde.program_end, code, program);
  }
  rows_.resize(rows_before);
  last_rule_ = rule_before;
  append_row(fde.begin, 0);
  ++stats_.malformed_fdes;
}

void RowShard::finish_stats() {
  for (size_t i = 0; i < std::min(uses_.size(), rules_.size()); ++i) {
    const unwind_rule rule = rules_.rule(i);
    if (is_simple(rule)) stats_.simple_rule_bytes += uses_[i].bytes;
    if (rule.cfa_kind != CFA_UNSUPPORTED) continue;
    stats_.unsupported_bytes += uses_[i].bytes;
    auto& by_class = stats_.unsupported[rule.cfa_reg];
    by_class.rows += uses_[i].rows;
    by_class.bytes += uses_[i].bytes;
  }
}

}  // namespace cicada::unwind

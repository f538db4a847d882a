// SPDX-License-Identifier: Apache-2.0
// The programs are run in the order of addresses, so that rows come out sorted and merged, each written once. Nothing is allocated per FDE.
//
// Padding: up to 15 bytes between two FDEs carry the first one's last rule (nothing executes there, and two rows are saved per
// function); a longer gap is CFA_NONE.
#include "unwind/cfi/row_shard.h"

#include <algorithm>

#include "dwarf/cfi_program.h"
#include "unwind/arch.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxPadding = 15;
constexpr uint64_t kCodeGap = 64;      // shorter gaps are padding of functions aligned to a cache line
constexpr uint64_t kSmallestOfOneRow = 512;  // smaller ones are many: their code would be read from all over the file
constexpr int32_t kEntryBytes = 8;     // the return address
constexpr uint64_t kReturnBytes = 2;   // repz ret
constexpr size_t kMaxRemembered = 64;  // DW_CFA_remember_state; compilers nest it once

// A CIE's initial instructions: nothing to restore, remember or advance.
struct InitialProgram : RuleState {
  using RuleState::RuleState;
  bool restore(uint64_t) { return false; }
  bool remember() { return false; }
  bool restore_state() { return false; }
  bool row(LinkAddr, LinkAddr) { return false; }
};

}  // namespace

// One FDE's run: the state of dwarf/cfi_program.h.
class RowShard::Program : public RuleState {
 public:
  Program(RowShard& shard, const RuleState& initial) : RuleState(initial), shard_(shard), initial_(&initial) {}

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
  [[gnu::always_inline]] bool row(LinkAddr begin, LinkAddr) {
    uint64_t low, high;
    copy_rule(low, high);
    ++rows_;
    last_row_ = begin;
    shard_.append_row(static_cast<uint32_t>(begin - shard_.image_.base), shard_.table_.rules.insert(low, high));
    return true;
  }
  uint64_t rows() const { return rows_; }
  LinkAddr last_row() const { return last_row_; }
  // In bytes, in the last row; 0: the CFA is somewhere else.
  int32_t pushed() const {
    uint64_t low, high;
    copy_rule(low, high);
    return static_cast<uint32_t>(low) == (CFA_OFFSET | uint32_t{ARCH_SP} << 8) ? static_cast<int32_t>(low >> 32) : 0;
  }

 private:
  RowShard& shard_;
  const RuleState* initial_;
  std::vector<RuleState> remembered_;
  uint64_t rows_ = 0;
  LinkAddr last_row_;
};

void RowShard::run() {
  const FdeList& fdes = image_.fdes;
  for (const FdeList::Section& section : fdes.sections()) starts_.emplace_back(section.reader.cies().size());
  if (fdes.size() != 0) {  // address space; what is not written costs nothing. The first part will hold the others, too.
    const size_t count = first_ == 0 ? fdes.size() : last_ - first_;
    table_.rows.reserve(std::min<uint64_t>(image_.max_rows, fdes.section_bytes() / 5 * count / fdes.size() + 16));
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
    } else if (fde.begin >= covered_end + kSmallestTrampoline && fde.begin % 16 != 0) {
      gaps_.push_back({image_.base + covered_end, image_.base + fde.begin});
    }
    compile(fde);
    covered_end = fde.end;
    if (table_.rows.size() > image_.max_rows) {
      too_many_rows_ = true;
      return;
    }
  }
  if (last_ == fdes.size()) append_gap({image_.base + covered_end, image_.end});
}

void RowShard::append(const RowShard& next) {
  const RowTable& more = next.table_;
  too_many_rows_ = too_many_rows_ || next.too_many_rows_ || table_.rows.size() + more.rows.size() > image_.max_rows;
  if (too_many_rows_) return;
  std::vector<uint32_t> numbers(more.rules.size());
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    const RuleWords rule = more.rules.words(i);
    numbers[i] = table_.rules.insert(rule.low, rule.high);
  }
  for (const Row& row : more.rows) append_row(row.begin, numbers[row.rule]);
  gaps_.insert(gaps_.end(), next.gaps_.begin(), next.gaps_.end());
  unmoved_.insert(unmoved_.end(), next.unmoved_.begin(), next.unmoved_.end());
  moved_.insert(moved_.end(), next.moved_.begin(), next.moved_.end());
  table_.stats.fdes += more.stats.fdes;
  table_.stats.cfi_rows += more.stats.cfi_rows;
  table_.stats.covered_bytes += more.stats.covered_bytes;
  table_.stats.malformed_fdes += more.stats.malformed_fdes;
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
      append_row(offset(code.begin), table_.rules.insert(CFA_FRAME_POINTER, 0));
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
    start.valid = cie.return_register == ARCH_RETURN && dwarf::run_cfi_program(section.section, cie, cie.program_begin, cie.program_end, {},
                                                                      initial) == dwarf::ProgramResult::kDone;
    start.state = initial;
  }
  return start;
}

void RowShard::doubt(Range<LinkAddr> code, const Program& program) {
  const bool one_row = program.rows() == 1 && code.size() >= kSmallestOfOneRow;
  const int32_t pushed = program.pushed();
  if (one_row && pushed == kEntryBytes) unmoved_.push_back(code);
  if (pushed > kEntryBytes && (one_row || code.end - program.last_row() <= kReturnBytes)) moved_.push_back(code);
}

void RowShard::compile(const FdeList::Fde& fde) {
  const FdeList::Section& section = image_.fdes.sections()[fde.section];
  const Start& start = start_of(fde);
  const dwarf::Cie& cie = section.reader.cie(fde.cie);
  const Range<LinkAddr> code{image_.base + fde.begin, image_.base + fde.end};
  const size_t rows_before = table_.rows.size();
  const uint32_t rule_before = last_rule_;
  bool good = start.valid;
  if (good) {
    Program program(*this, start.state);
    good = dwarf::run_cfi_program(section.section, cie, fde.program_begin, fde.program_end, code, program) ==
           dwarf::ProgramResult::kDone;
    if (good) table_.stats.cfi_rows += program.rows();
    if (good) doubt(code, program);
  }
  ++table_.stats.fdes;
  table_.stats.covered_bytes += code.size();
  if (good) return;
  table_.rows.resize(rows_before);
  last_rule_ = rule_before;
  append_row(fde.begin, 0);
  ++table_.stats.malformed_fdes;
}

}  // namespace cicada::unwind

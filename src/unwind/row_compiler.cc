// SPDX-License-Identifier: Apache-2.0
// CFI -> rows in two passes. The first reads the FDE headers only and puts them into address order (.eh_frame is in the order of
// input objects) with a radix sort; the second runs the programs in that order, so that rows come out sorted and merged, each
// written once. Nothing is allocated per FDE.
//
// Padding: up to 15 bytes between two FDEs carry the first one's last rule (nothing executes there, and two rows are saved per
// function); a longer gap is CFA_NONE. FDEs that overlap: the one that begins later wins from there on, like the binary search over
// .eh_frame_hdr finds it; .debug_frame only fills what .eh_frame leaves.
#include <algorithm>
#include <optional>

#include "base/diagnostics.h"
#include "dwarf/cfi_program.h"
#include "dwarf/frame_sections.h"
#include "unwind/code_patterns.h"
#include "unwind/executable_ranges.h"
#include "unwind/rule_set.h"
#include "unwind/table_builder.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxPadding = 15;
constexpr uint64_t kCodeGap = 64;          // shorter gaps are padding of functions aligned to a cache line
constexpr uint64_t kMaxRows = 32 << 20;      // 256 MiB of rows, forty times libLLVM: a hostile file's bound
constexpr size_t kMaxRemembered = 64;        // DW_CFA_remember_state; compilers nest it once
constexpr uint64_t kMaxSectionBytes = 0xffffffff;

struct FdeEntry {
  uint32_t begin, size;  // bytes from base
  uint32_t program_begin, program_end;
  uint32_t cie;      // kDebugFrame: in the second section
};
constexpr uint32_t kSecondSection = uint32_t{1} << 31;

// How much code a rule is for.
struct RuleUse {
  uint64_t rows = 0, bytes = 0;
};

class Compiler {
 public:
  Compiler(const elf::ElfFile& elf, const ExecutableRanges& code, RowDetail detail, RowTable& table)
      : elf_(elf), code_(code), table_(table), counting_(detail == RowDetail::kCounted) {}
  void run();
  const std::vector<Range<LinkAddr>>& gaps() const { return gaps_; }

 private:
  // A CIE's state after its initial instructions, computed when first needed.
  struct Start {
    bool known = false, valid = false;
    RuleState state;
  };
  struct Section {
    dwarf::CallFrameSection section;
    dwarf::FdeReader reader;
    std::vector<Start> starts;
    explicit Section(const dwarf::CallFrameSection& s) : section(s), reader(s) {}
  };
  class Program;

  void collect(uint32_t section_number);
  void append_gap(Range<LinkAddr> gap);
  void sort();
  void drop_overlaps();
  void compile(const FdeEntry& fde, uint32_t end);
  const Start& start_of(Section& section, uint32_t cie);
  void append(uint32_t begin, uint32_t rule) {
    if (last_rule_ == rule) return;
    table_.rows.push_back({begin, rule});
    last_rule_ = rule;
  }
  void finish_stats();

  const elf::ElfFile& elf_;
  const ExecutableRanges& code_;
  RowTable& table_;
  std::vector<Section> sections_;
  std::vector<Range<LinkAddr>> sections_with_code_;  // within code_
  std::vector<FdeEntry> fdes_;
  std::vector<uint64_t> order_;  // begin << 32 | index into fdes_
  RuleSet rules_;
  std::vector<RuleUse> uses_;  // by rule
  std::vector<Range<LinkAddr>> gaps_;  // that no FDE covers and that are not padding
  uint32_t last_rule_ = 0;
  bool counting_;
};

// One FDE's run: the state of dwarf/cfi_program.h.
class Compiler::Program : public RuleState {
 public:
  Program(Compiler& compiler, const RuleState& initial, bool undo)
      : RuleState(initial), compiler_(compiler), initial_(&initial), undo_(undo) {}

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
    const uint32_t rule = compiler_.rules_.insert(low, high);
    ++rows_;
    if (compiler_.counting_) [[unlikely]] count(rule, end - begin);
    compiler_.append(static_cast<uint32_t>(begin - compiler_.table_.base), rule);
    return true;
  }
  uint64_t rows() const { return rows_; }

 private:
  void count(uint32_t rule, uint64_t size) {
    if (rule >= compiler_.uses_.size()) compiler_.uses_.resize(rule + 64);
    RuleUse& use = compiler_.uses_[rule];
    use.bytes += undo_ ? -size : size;
    use.rows += undo_ ? ~uint64_t{0} : 1;
  }
  Compiler& compiler_;
  const RuleState* initial_;
  std::vector<RuleState> remembered_;
  uint64_t rows_ = 0;
  bool undo_;
};

// A CIE's initial instructions: nothing to restore, remember or advance.
struct InitialProgram : RuleState {
  using RuleState::RuleState;
  bool restore(uint64_t) { return false; }
  bool remember() { return false; }
  bool restore_state() { return false; }
  bool row(LinkAddr, LinkAddr) { return false; }
};

void Compiler::run() {
  for (const dwarf::CallFrameSection& section : dwarf::find_frame_sections(elf_)) {
    if (section.bytes.size() > kMaxSectionBytes || sections_.size() == 2) continue;
    sections_.emplace_back(section);
  }
  if (const auto sections = ExecutableRanges::find_code(elf_)) {
    for (const Range<LinkAddr>& range : sections->ranges()) {
      size_t hint = 0;
      if (code_.contains(range, hint)) sections_with_code_.push_back(range);
    }
  }
  for (uint32_t i = 0; i < sections_.size(); ++i) collect(i);
  sort();
  drop_overlaps();
  for (const Section& section : sections_) {
    table_.stats.cies += section.reader.cies().size();
    table_.stats.malformed_fdes += section.reader.malformed();
  }
  uint64_t program_bytes = 0;
  for (const Section& section : sections_) program_bytes += section.section.bytes.size();
  table_.rows.reserve(std::min<uint64_t>(kMaxRows, program_bytes / 5 + 16));  // address space; what is not written costs nothing
  uint64_t covered_end = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const FdeEntry& fde = fdes_[static_cast<uint32_t>(order_[i])];
    uint64_t end = uint64_t{fde.begin} + fde.size;
    if (i + 1 < order_.size()) end = std::min(end, order_[i + 1] >> 32);
    if (fde.begin > covered_end + kMaxPadding) {
      append_gap({table_.base + covered_end, table_.base + fde.begin});
    } else if (fde.begin >= covered_end + kSmallestPatternGap && fde.begin % 16 != 0) {
      gaps_.push_back({table_.base + covered_end, table_.base + fde.begin});
    }
    compile(fde, static_cast<uint32_t>(end));
    covered_end = end;
    if (table_.rows.size() > kMaxRows) {
      diagnostics().warn(elf_.name(), "more than {} unwind rows: its stacks end at its frames", kMaxRows);
      table_ = RowTable{};
      return;
    }
  }
  append_gap({table_.base + covered_end, code_.ranges().back().end});
  finish_stats();
  table_.rules.reserve(rules_.size() + 2);
  for (size_t i = 0; i < rules_.size(); ++i) table_.rules.push_back(rules_.rule(i));
  if (table_.stats.malformed_fdes != 0) {
    diagnostics().warn(elf_.name(), "{} malformed call-frame entries: stacks end at the functions concerned",
                       table_.stats.malformed_fdes);
  }
}

// No rule, but by frame pointer where there is code: hand-written assembly, V8's built-ins.
void Compiler::append_gap(Range<LinkAddr> gap) {
  gaps_.push_back(gap);
  const auto offset = [&](LinkAddr address) { return static_cast<uint32_t>(address - table_.base); };
  LinkAddr done = gap.begin;
  if (gap.size() >= kCodeGap && !order_.empty()) {
    const auto& ranges = sections_with_code_;
    auto part = std::lower_bound(ranges.begin(), ranges.end(), gap.begin,
                                 [](const Range<LinkAddr>& range, LinkAddr begin) { return range.end <= begin; });
    for (; part != ranges.end() && part->begin < gap.end; ++part) {
      const Range<LinkAddr> code{std::max(part->begin, gap.begin), std::min(part->end, gap.end)};
      if (code.size() < kCodeGap) continue;
      if (done < code.begin) append(offset(done), 0);
      append(offset(code.begin), rules_.insert(CFA_FRAME_POINTER, 0));
      done = code.end;
    }
  }
  if (done < gap.end) append(offset(done), 0);
}

void Compiler::collect(uint32_t section_number) {
  Section& section = sections_[section_number];
  fdes_.reserve(fdes_.size() + section.section.bytes.size() / 96);
  size_t hint = 0;
  while (const auto fde = section.reader.next()) {
    if (fde->size == 0) continue;
    if (!code_.contains({fde->begin, fde->begin + fde->size}, hint)) {
      // Discarded functions keep an FDE for address 0 with some linkers: not worth a warning.
      if (fde->begin.value != 0) ++table_.stats.malformed_fdes;
      continue;
    }
    const uint32_t cie = fde->cie | (section_number != 0 ? kSecondSection : 0);
    fdes_.push_back({static_cast<uint32_t>(fde->begin - table_.base), static_cast<uint32_t>(fde->size),
                     static_cast<uint32_t>(fde->program_begin), static_cast<uint32_t>(fde->program_end), cie});
  }
  section.starts.resize(section.reader.cies().size());
}

// LSD radix sort by begin, stable; std::sort takes five times as long for the 94,994 FDEs of libLLVM.
void Compiler::sort() {
  order_.resize(fdes_.size());
  bool sorted = true;
  for (size_t i = 0; i < fdes_.size(); ++i) {
    order_[i] = uint64_t{fdes_[i].begin} << 32 | i;
    if (i != 0 && order_[i] < order_[i - 1]) sorted = false;
  }
  if (sorted) return;
  std::vector<uint64_t> other(order_.size());
  for (unsigned shift = 32; shift < 64; shift += 11) {
    std::array<uint32_t, 2048> at{};
    for (const uint64_t key : order_) ++at[key >> shift & 2047];
    uint32_t sum = 0;
    for (uint32_t& n : at) sum += std::exchange(n, sum);
    for (const uint64_t key : order_) other[at[key >> shift & 2047]++] = key;
    order_.swap(other);
  }
}

void Compiler::drop_overlaps() {
  const bool two_sections = sections_.size() == 2;
  uint64_t eh_end = 0;
  size_t kept = 0;
  for (const uint64_t key : order_) {
    const FdeEntry& fde = fdes_[static_cast<uint32_t>(key)];
    const bool second = (fde.cie & kSecondSection) != 0;
    if (kept != 0 && order_[kept - 1] >> 32 == fde.begin) continue;  // the first of several with the same begin
    if (second && fde.begin < eh_end) continue;
    if (two_sections && !second) eh_end = std::max(eh_end, uint64_t{fde.begin} + fde.size);
    order_[kept++] = key;
  }
  order_.resize(kept);
}

const Compiler::Start& Compiler::start_of(Section& section, uint32_t cie_number) {
  Start& start = section.starts[cie_number];
  if (!start.known) {
    start.known = true;
    const dwarf::Cie& cie = section.reader.cie(cie_number);
    InitialProgram initial(cie.signal_frame);
    start.valid = cie.return_register == 16 && dwarf::run_cfi_program(section.section, cie, cie.program_begin, cie.program_end, {},
                                                                      initial) == dwarf::ProgramResult::kDone;
    start.state = initial;
  }
  return start;
}

void Compiler::compile(const FdeEntry& fde, uint32_t end) {
  Section& section = sections_[(fde.cie & kSecondSection) != 0 ? 1 : 0];
  const uint32_t cie_number = fde.cie & ~kSecondSection;
  const Start& start = start_of(section, cie_number);
  const dwarf::Cie& cie = section.reader.cie(cie_number);
  const Range<LinkAddr> code{table_.base + fde.begin, table_.base + end};
  const size_t rows_before = table_.rows.size();
  const uint32_t rule_before = last_rule_;
  bool good = start.valid;
  if (good) {
    Program program(*this, start.state, false);
    good = dwarf::run_cfi_program(section.section, cie, fde.program_begin, fde.program_end, code, program) ==
           dwarf::ProgramResult::kDone;
    if (good) table_.stats.cfi_rows += program.rows();
  }
  ++table_.stats.fdes;
  table_.stats.covered_bytes += code.size();
  if (good) return;
  if (start.valid && counting_) {  // take back what it had counted before it went wrong
    Program program(*this, start.state, true);
    dwarf::run_cfi_program(section.section, cie, fde.program_begin, fde.program_end, code, program);
  }
  table_.rows.resize(rows_before);
  last_rule_ = rule_before;
  append(fde.begin, 0);
  ++table_.stats.malformed_fdes;
}

// What profilers with rsp and rbp rules only would follow: no other CFA register, no dereference, no signal frames.
bool is_simple(const unwind_rule& rule) {
  if (rule.cfa_kind == CFA_OUTERMOST || rule.cfa_kind == CFA_PLT) return true;
  return rule.cfa_kind == CFA_OFFSET && (rule.cfa_reg == 6 || rule.cfa_reg == 7) && rule.via_base == 0;
}

void Compiler::finish_stats() {
  RowStats& stats = table_.stats;
  for (size_t i = 0; i < std::min(uses_.size(), rules_.size()); ++i) {
    const unwind_rule rule = rules_.rule(i);
    if (is_simple(rule)) stats.simple_rule_bytes += uses_[i].bytes;
    if (rule.cfa_kind != CFA_UNSUPPORTED) continue;
    stats.unsupported_bytes += uses_[i].bytes;
    auto& by_class = stats.unsupported[rule.cfa_reg];
    by_class.rows += uses_[i].rows;
    by_class.bytes += uses_[i].bytes;
  }
}

}  // namespace

const unwind_rule& RowTable::find(LinkAddr address) const {
  static constexpr unwind_rule kNone{};
  if (address < base || rows.empty() || address - base < rows.front().begin || address - base > 0xffffffff) return kNone;
  const auto offset = static_cast<uint32_t>(address - base);
  const auto after = std::upper_bound(rows.begin(), rows.end(), offset, [](uint32_t a, const Row& row) { return a < row.begin; });
  return rules[std::prev(after)->rule];
}

RowTable compile_rows(const elf::ElfFile& elf, RowDetail detail) {
  RowTable table;
  const auto code = ExecutableRanges::find(elf);
  if (!code) {
    diagnostics().warn(elf.name(), "executable segments span more than 4 GiB: no unwind table");
    return table;
  }
  if (code->ranges().empty()) return table;
  table.base = LinkAddr(code->ranges().front().begin.value & ~uint64_t{0xffff});
  Compiler compiler(elf, *code, detail, table);
  compiler.run();
  add_code_patterns(elf, *code, compiler.gaps(), table);
  return table;
}

}  // namespace cicada::unwind

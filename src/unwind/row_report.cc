// SPDX-License-Identifier: Apache-2.0
#include "unwind/row_report.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "base/number_text.h"
#include "unwind/cfi/fde_list.h"
#include "unwind/heuristics/heuristic_rules.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/code_pieces.h"
#include "unwind/rows/table_layout.h"

namespace cicada::unwind {
namespace {

constexpr const char* kRegisters[] = {ARCH_REGISTER_NAMES};
constexpr const char* kSaved[] = {
#define X(number, reg) kRegisters[reg],
    ARCH_SAVED_REGISTERS(X)
#undef X
};

double per_row(uint64_t bytes, uint64_t rows) {
  return rows == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(rows);
}

// What profilers with rules of stack and frame pointer only would follow: no other CFA register, no dereference, no signal frames.
bool is_simple(const unwind_rule& rule) {
  if (rule.cfa_kind == CFA_OUTERMOST || rule.cfa_kind == CFA_PLT) return true;
  return rule.cfa_kind == CFA_OFFSET && (rule.cfa_reg == ARCH_FP || rule.cfa_reg == ARCH_SP) && rule.via_base == 0;
}

std::string print_rows(const UnwindRows& table, bool unsupported_only) {
  std::string text;
  for (size_t i = 0; i < table.rows().size(); ++i) {
    const Row& row = table.rows()[i];
    const unwind_rule& rule = table.rules()[row.rule];
    if (unsupported_only && rule.cfa_kind != CFA_UNSUPPORTED) continue;
    const LinkAddr begin = table.base() + row.begin;
    text += fmt::format("{:#012x}  {}", begin.value, to_text(rule));
    if (unsupported_only && i + 1 < table.rows().size()) text += fmt::format("  ({} bytes)", table.rows()[i + 1].begin - row.begin);
    text += '\n';
  }
  return text;
}

std::string print_unsupported(const elf::ElfFile& elf, const UnwindRows& table) {
  const UnsupportedCode unsupported = count_unsupported(elf, table);
  const uint64_t covered = table.stats().covered_bytes;
  std::string text = fmt::format("{}: {} of {} bytes of code with CFI ({:.4f} %) have a rule the kernel walk cannot follow\n", elf.name(),
                                 unsupported.all.bytes, covered, percent(unsupported.all.bytes, covered));
  for (size_t i = 0; i < unsupported.by_reason.size(); ++i) {
    const UnsupportedCode::Class& count = unsupported.by_reason[i];
    if (count.rows == 0) continue;
    text += fmt::format("{:>10} rows {:>10} bytes  {}\n", count.rows, count.bytes, to_text(static_cast<UnsupportedReason>(i)));
  }
  return text + print_rows(table, true);
}

std::string print_stats(const elf::ElfFile& elf, const UnwindRows& table, double compile_ms) {
  const RowStats& stats = table.stats();
  const UnsupportedCode unsupported = count_unsupported(elf, table);
  const auto code = code::ExecutableRanges::find_code(elf);
  const uint64_t executable = code ? code->total_bytes() : 0;
  const TableLayout layout = TableLayout::plan(table, 0);
  const TableLayout::Parts& parts = layout.parts();
  const uint64_t rows = stats.cfi_rows;
  std::string text = fmt::format("{}\n", elf.name());
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("  {:<34} {}\n", name, value); };
  line("FDEs, CIEs, malformed", fmt::format("{}, {}, {}", stats.fdes, stats.cies, stats.malformed_fdes));
  line("row boundaries in the CFI", fmt::format("{}", rows));
  line("rows after merging, distinct rules", fmt::format("{}, {}", table.rows().size(), table.rules().size()));
  line("code with an FDE", fmt::format("{} of {} bytes ({:.2f} %)", stats.covered_bytes, executable, percent(stats.covered_bytes, executable)));
  line("of that the kernel can follow", fmt::format("{:.4f} %", percent(stats.covered_bytes - unsupported.all.bytes, stats.covered_bytes)));
  line("sp, fp and PLT rules alone", fmt::format("{:.4f} %", percent(unsupported.simple_bytes, stats.covered_bytes)));
  line("signal trampolines by code bytes", fmt::format("{}", stats.signal_trampolines));
  line("table", fmt::format("{} bytes, {:.2f} per row boundary", layout.size_bytes(), per_row(layout.size_bytes(), rows)));
  line("  rows", fmt::format("{} ({} of them repeated at page begins)", parts.rows, parts.page_rows));
  line("  block headers, dictionaries", fmt::format("{}, {}", parts.headers, parts.dictionaries));
  line("  page index, rules", fmt::format("{}, {}", parts.index, parts.rules));
  line("  unused before chunk ends", fmt::format("{}", parts.chunk_gaps));
  line("  code page", fmt::format("{} bytes", 1u << layout.page_shift()));
  line("beside it: 8 bytes a row", fmt::format("{} bytes", 8 * rows));
  line("           12 bytes a row", fmt::format("{} bytes", 12 * rows));
  line("compiled in", fmt::format("{:.2f} ms", compile_ms));
  return text;
}

constexpr size_t kShownRanges = 8;

// Bytes that are unread in `before`, by what two tables say of them.
struct Agreement {
  uint64_t same = 0, only_one = 0, only_other = 0, differ = 0;
  std::vector<Range<LinkAddr>> first;  // that are not the same
};
Agreement compare_unread(const UnwindRows& before, const UnwindRows& one, const UnwindRows& other) {
  Agreement count;
  const std::span<const Row> rows = before.rows();
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    if (!is_unread(before.rules()[rows[i].rule])) continue;
    for (uint32_t at = rows[i].begin; at < rows[i + 1].begin; ++at) {
      const unwind_rule &a = one.find(one.base() + at), &b = other.find(other.base() + at);
      const bool no_a = a.cfa_kind == CFA_FRAME_POINTER || a.cfa_kind == CFA_NONE, no_b = b.cfa_kind == CFA_FRAME_POINTER || b.cfa_kind == CFA_NONE;
      const bool same = (no_a && no_b) || (!no_a && !no_b && std::memcmp(&a, &b, sizeof a) == 0);
      ++(same ? count.same : no_b ? count.only_one : no_a ? count.only_other : count.differ);
      if (same) continue;
      const LinkAddr address = one.base() + at;
      if (!count.first.empty() && count.first.back().end == address) count.first.back().end = address + 1;
      else if (count.first.size() < kShownRanges) count.first.push_back({address, address + 1});
    }
  }
  return count;
}

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<std::string> print_pieces(const elf::ElfFile& elf) {
  const Stopwatch without;
  const UnwindRows first = TRY(compile_rows(elf, {.max_read_bytes = 0}));
  const double without_ms = without.ms();
  const CodePieces pieces(first);
  std::vector<double> times;
  uint64_t bytes = 0;
  UnwindRows table = with_code(first, {}, {});
  for (size_t i = 0; i + 1 < first.rows().size(); ++i) {
    for (LinkAddr at = first.base() + first.rows()[i].begin; is_unread(first.rules()[first.rows()[i].rule]) && at < first.base() + first.rows()[i + 1].begin;) {
      const CodeQuestion question = pieces.question(table, {&at, 1});
      at = first.base() + ((at - first.base()) / pieces.piece_bytes() + 1) * pieces.piece_bytes();
      if (question.pieces.empty()) continue;
      bytes += code::total_bytes(question.pieces);
      const Stopwatch one;
      const std::vector<CodeRule> rules = read_code(elf, question);
      times.push_back(one.ms());
      table = with_code(table, question, rules);
    }
  }
  std::string text = fmt::format("{}\n", elf.name());
  const auto line = [&](const char* name, const std::string& value) { text += fmt::format("  {:<34} {}\n", name, value); };
  line("code without CFI", fmt::format("{} bytes in {} pieces", bytes, times.size()));
  line("rows without it in", fmt::format("{:.2f} ms", without_ms));
  if (times.empty()) return text;
  const Stopwatch whole;
  const UnwindRows at_once = TRY(compile_rows(elf));
  const double whole_ms = whole.ms(), sum = std::accumulate(times.begin(), times.end(), 0.0);
  std::sort(times.begin(), times.end());
  line("a piece in", fmt::format("{:.2f} ms at the median, {:.2f} ms at most", times[times.size() / 2], times.back()));
  line("all pieces in", fmt::format("{:.2f} ms, {:.1f} ns a byte", sum, sum * 1e6 / static_cast<double>(bytes)));
  line("all at once in", fmt::format("{:.2f} ms, {:.1f} ns a byte", whole_ms - without_ms, (whole_ms - without_ms) * 1e6 / static_cast<double>(bytes)));
  const Agreement count = compare_unread(first, table, at_once);
  line("both say the same of", fmt::format("{} bytes ({:.3f} %)", count.same, percent(count.same, bytes)));
  line("a rule in pieces, at once, two rules", fmt::format("{}, {}, {} bytes", count.only_one, count.only_other, count.differ));
  for (const Range<LinkAddr>& range : count.first)
    line("", fmt::format("{:#x} … {:#x}: {}; {}", range.begin.value, range.end.value, to_text(table.find(range.begin)), to_text(at_once.find(range.begin))));
  return text;
}

}  // namespace

UnsupportedCode count_unsupported(const elf::ElfFile& elf, const UnwindRows& table) {
  UnsupportedCode count;
  const auto code = code::ExecutableRanges::find(elf);
  if (!code) return count;
  const FdeList fdes(elf, *code, table.base());
  auto row = table.rows().begin();
  for (size_t i = 0; i < fdes.size() && row != table.rows().end(); ++i) {
    const FdeList::Fde fde = fdes[i];
    while (std::next(row) != table.rows().end() && std::next(row)->begin <= fde.begin) ++row;
    for (auto at = row; at != table.rows().end() && at->begin < fde.end; ++at) {
      const uint32_t end = std::next(at) == table.rows().end() ? fde.end : std::min(fde.end, std::next(at)->begin);
      const uint64_t bytes = end - std::max(at->begin, fde.begin);
      const unwind_rule& rule = table.rules()[at->rule];
      if (is_simple(rule)) count.simple_bytes += bytes;
      if (rule.cfa_kind != CFA_UNSUPPORTED) continue;
      for (UnsupportedCode::Class* const sum : {&count.all, &count.by_reason[rule.cfa_reg]}) {
        ++sum->rows;
        sum->bytes += bytes;
      }
    }
  }
  return count;
}

std::string to_text(const unwind_rule& rule) {
  const char* reg = kRegisters[rule.cfa_reg & (ARCH_REGISTERS - 1)];
  std::string text;
  switch (rule.cfa_kind) {
    case CFA_NONE: return "none";
    case CFA_OUTERMOST: return "outermost";
    case CFA_FRAME_POINTER: return "frame pointer";
    case CFA_UNSUPPORTED: return fmt::format("unsupported: {}", to_text(static_cast<UnsupportedReason>(rule.cfa_reg)));
    case CFA_SIGNAL: return fmt::format("signal frame, ucontext={}{:+}", kRegisters[ARCH_SP], rule.cfa_offset);
    case CFA_OFFSET: text = fmt::format("cfa={}{:+}", reg, rule.cfa_offset); break;
    case CFA_DEREF: text = fmt::format("cfa=[{}{:+}]{:+}", reg, rule.cfa_offset, rule.cfa_addend); break;
    case CFA_DEREF_TWICE: text = fmt::format("cfa=[[{}{:+}]{:+}]{:+}", reg, rule.cfa_offset, 8 * (rule.cfa_addend & 255), 8 * (rule.cfa_addend >> 8 & 255)); break;
    case CFA_PLT: text = fmt::format("cfa of a lazy-binding stub, pushed at {}", rule.cfa_offset); break;
    default: return fmt::format("kind {}", rule.cfa_kind);
  }
  const std::string base = (rule.via_align & 63) != 0 ? fmt::format("((cfa-8)&-{})", uint64_t{1} << (rule.via_align & 63)) : kRegisters[arch_save_base(rule.via_base >> 6)];
  for (unsigned i = 0; i < SAVED_COUNT; ++i) {
    if ((rule.via_base >> i & 1) != 0) text += fmt::format(" {}=[{}{:+}]", kSaved[i], base, 8 * rule.saved[i]);
    else if (rule.saved[i] != 0) text += fmt::format(" {}=[cfa{:+}]", kSaved[i], 8 * rule.saved[i]);
  }
  return text;
}

Result<std::string> report_rows(const std::string& path, RowReport report) {
  const elf::ElfFile elf = TRY(elf::ElfFile::open(path));
  if (report == RowReport::kPieces) return print_pieces(elf);
  const Stopwatch compiling;
  const UnwindRows table = TRY(compile_rows(elf));
  const double compile_ms = compiling.ms();
  if (report == RowReport::kStats) return print_stats(elf, table, compile_ms);
  return report == RowReport::kRows ? print_rows(table, false) : print_unsupported(elf, table);
}

}  // namespace cicada::unwind

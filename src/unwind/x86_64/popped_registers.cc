// SPDX-License-Identifier: Apache-2.0
#include "unwind/x86_64/popped_registers.h"

#include <algorithm>
#include <optional>

#include "code/arch.h"
#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

constexpr int kMaxInstructions = 24;       // from the begin of such a row
constexpr size_t kMaxRowsTried = 1 << 14;  // of one image

bool saves_below_frame(const unwind_rule& rule) { return (rule.via_base & 63) != 0 && rule.via_base >> 6 == SAVE_BASE_FP && rule.via_align == 0; }
// So is the end of such a function; and its begin, where rbp is not popped.
bool may_pop_frame(const unwind_rule& rule) {
  return rule.cfa_kind == CFA_OFFSET && rule.cfa_reg != X86_RSP && rule.cfa_reg != X86_RBP && saves_below_frame(rule);
}

unwind_rule without_base(unwind_rule rule) {
  for (size_t slot = 0; slot < SAVED_COUNT; ++slot) {
    if ((rule.via_base >> slot & 1) != 0) rule.saved[slot] = 0;
  }
  rule.via_base = 0;
  return rule;
}

struct End {
  uint32_t begin, end;
};
// From behind the instruction that restores rbp to behind the one that goes elsewhere; bytes from `code`.
std::optional<End> find_end(Bytes code) {
  uint32_t done = 0, restored = 0;
  for (int i = 0; i < kMaxInstructions; ++i) {
    const auto insn = code::decode_instruction(code.subspan(done));
    if (!insn) return std::nullopt;
    done += insn->length;
    const code::Flow flow = insn->flow();
    const bool leaves = flow == code::Flow::kReturn || flow == code::Flow::kJump || flow == code::Flow::kIndirectJump;
    if (leaves && restored != 0) return End{restored, done};
    if (flow != code::Flow::kNext) return std::nullopt;
    if (restored == 0 && ((insn->is(0, 0x5d) && insn->reg == code::kRbp) || insn->is(0, 0xc9))) restored = done;
  }
  return std::nullopt;
}

}  // namespace

void mark_popped_registers(const elf::ElfFile& elf, RowTable& table) {
  std::vector<bool> wanted(table.rules.size());
  bool any = false;
  for (uint32_t id = 0; id < table.rules.size(); ++id) any |= wanted[id] = may_pop_frame(table.rules.rule(id));
  if (!any) return;
  std::vector<CodeRule> patches;
  size_t tried = 0;
  const auto end_of = [&](size_t i) { return i + 1 < table.rows.size() ? table.rows[i + 1].begin : UINT32_MAX; };
  for (size_t i = 0; i < table.rows.size() && tried < kMaxRowsTried; ++i) {
    if (!wanted[table.rows[i].rule]) continue;
    ++tried;
    const uint32_t begin = table.rows[i].begin;
    const auto found = find_end(elf.contents_at(table.base + begin));
    if (!found || begin + found->begin >= end_of(i)) continue;
    for (size_t row = i; row < table.rows.size() && table.rows[row].begin < begin + found->end; ++row) {
      const unwind_rule rule = table.rules.rule(table.rows[row].rule);
      const uint32_t from = std::max(table.rows[row].begin, begin + found->begin), to = std::min(end_of(row), begin + found->end);
      if (from < to && saves_below_frame(rule)) patches.push_back({from, to, without_base(rule)});
    }
  }
  if (patches.empty()) return;
  RowEditor editor(table);
  for (const CodeRule& patch : patches) editor.overwrite(patch);
  editor.finish();
}

}  // namespace cicada::unwind

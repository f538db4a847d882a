// SPDX-License-Identifier: Apache-2.0
// GCC 12 takes 37 to 42 bytes from the store to the row, 12 instructions to the jump: -O0 to -O3, -Os, with and without -fcf-protection.
#include "unwind/x86_64/handler_return.h"

#include <algorithm>

#include "code/arch.h"
#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

using code::decode_instruction;
using code::Instruction;
using code::kRbp;
using code::kRip;
using code::kRsp;

constexpr uint32_t kMaxBytes = 64;    // from the store to the row
constexpr int kMaxInstructions = 24;  // from the store to the jump
constexpr size_t kMaxRowsTried = 256;  // an image has four functions that end so

enum class Effect : uint8_t { kOther, kMove, kLoad, kAddress, kPop, kJump, kReturn };

bool has_general_address(const Instruction& insn) { return insn.mod != 3 && insn.rm < kRip; }

Effect effect_of(const Instruction& insn) {
  if (insn.vex || insn.map != 0 || insn.operand16) return Effect::kOther;
  if ((insn.opcode & 0xf8) == 0x58) return Effect::kPop;
  if (insn.opcode == 0xc3) return Effect::kReturn;
  if (insn.is_group(0xff, 4) && insn.mod == 3) return Effect::kJump;
  if (!insn.wide) return Effect::kOther;
  if ((insn.opcode == 0x89 || insn.opcode == 0x8b) && insn.mod == 3) return Effect::kMove;
  if (insn.opcode == 0x8b && has_general_address(insn)) return Effect::kLoad;
  return insn.opcode == 0x8d && has_general_address(insn) ? Effect::kAddress : Effect::kOther;
}

// mov …,8(%rbp,…)
bool is_store(Bytes code) {
  if (code.size() < 2 || (code[0] & 0xf8) != 0x48 || code[1] != 0x89) return false;
  const auto insn = decode_instruction(code);
  return insn && insn->mod != 3 && insn->rm == kRbp && insn->indexed && insn->scale == 0 && insn->displacement == 8;
}

// Bytes to the end of the jump; 0: there is other code before it, or no instruction begins `row` bytes on.
size_t measure(Bytes code, size_t row) {
  size_t done = 0;
  bool met = false;
  for (int i = 0; i < kMaxInstructions; ++i) {
    met |= done == row;
    const auto insn = decode_instruction(code.subspan(done));
    const Effect effect = insn ? effect_of(*insn) : Effect::kOther;
    if (effect == Effect::kOther) return 0;
    done += insn->length;
    if (effect == Effect::kJump || effect == Effect::kReturn) return met ? done : 0;
  }
  return 0;
}

// Bytes from the table's base.
std::optional<Range<uint32_t>> find_site(const elf::ElfFile& elf, LinkAddr base, uint32_t row) {
  const uint32_t before = std::min(row, kMaxBytes);
  const Bytes code = elf.contents_at(base + (row - before));
  for (uint32_t back = 1; back <= before && before < code.size(); ++back) {
    const uint32_t at = before - back;
    if (!is_store(code.subspan(at))) continue;
    const uint32_t behind = at + decode_instruction(code.subspan(at))->length;
    const size_t size = behind <= before ? measure(code.subspan(behind), before - behind) : 0;
    if (size != 0) return Range<uint32_t>{row - before + behind, row - before + behind + static_cast<uint32_t>(size)};
  }
  return std::nullopt;
}

std::vector<Range<uint32_t>> find_sites(const elf::ElfFile& elf, const RowTable& table) {
  std::vector<bool> wanted;
  for (uint32_t id = 0; id < table.rules.size(); ++id) {
    const unwind_rule rule = table.rules.rule(id);
    if (rule.cfa_kind != CFA_OFFSET || rule.cfa_reg != X86_RCX || rule.cfa_offset != 8) continue;
    wanted.resize(table.rules.size());
    wanted[id] = true;
  }
  std::vector<Range<uint32_t>> sites;
  size_t tried = 0;
  for (size_t i = 0; i < table.rows.size() && !wanted.empty() && tried < kMaxRowsTried; ++i) {
    if (!wanted[table.rows[i].rule]) continue;
    ++tried;
    const auto site = find_site(elf, table.base, table.rows[i].begin);
    if (site && (sites.empty() || sites.back().end < site->begin)) sites.push_back(*site);
  }
  return sites;
}

}  // namespace

void mark_handler_returns(const elf::ElfFile& elf, RowTable& table) {
  const std::vector<Range<uint32_t>> sites = find_sites(elf, table);
  if (sites.empty()) return;
  unwind_rule rule{};
  rule.cfa_kind = CFA_UNSUPPORTED;
  rule.cfa_reg = static_cast<uint8_t>(UnsupportedReason::kHandlerReturn);
  RowEditor editor(table);
  for (const Range<uint32_t>& site : sites) editor.overwrite({site.begin, site.end, rule});
  editor.finish();
}

dwarf::FrameStep follow_handler_return(Bytes code, const dwarf::Memory& stack, dwarf::Registers& registers) {
  // DWARF numbers by the hardware's.
  static constexpr uint8_t kDwarf[16] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
                                         X86_R8,  X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15};
  const auto value = [&](unsigned reg) -> uint64_t& { return registers.value[kDwarf[reg & 15]]; };
  size_t done = 0;
  for (int i = 0; i < kMaxInstructions; ++i) {
    const auto insn = decode_instruction(code.subspan(done));
    if (!insn) return dwarf::FrameStep::kMalformed;
    done += insn->length;
    const Effect effect = effect_of(*insn);
    const uint64_t address = value(insn->rm) + (insn->indexed ? value(insn->index) << insn->scale : 0) + static_cast<uint64_t>(int64_t{insn->displacement});
    std::optional<uint64_t> word = 0;
    if (effect == Effect::kLoad) word = stack.find_word(address);
    if (effect == Effect::kPop || effect == Effect::kReturn) {
      word = stack.find_word(value(kRsp));
      value(kRsp) += 8;
    }
    if (!word) return dwarf::FrameStep::kUnreadable;
    switch (effect) {
      case Effect::kMove:
        if (insn->opcode == 0x8b) value(insn->reg) = value(insn->rm);
        else value(insn->rm) = value(insn->reg);
        break;
      case Effect::kLoad:
      case Effect::kPop: value(insn->reg) = *word; break;
      case Effect::kAddress: value(insn->reg) = address; break;
      case Effect::kJump: registers.set(ARCH_RETURN, value(insn->rm)); return dwarf::FrameStep::kDone;
      case Effect::kReturn: registers.set(ARCH_RETURN, *word); return dwarf::FrameStep::kDone;
      case Effect::kOther: return dwarf::FrameStep::kMalformed;
    }
  }
  return dwarf::FrameStep::kMalformed;
}

}  // namespace cicada::unwind

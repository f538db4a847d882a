// SPDX-License-Identifier: Apache-2.0
// A callee-saved register counts as saved by the first push, or the first store to the stack, in a function: neither compilers nor people write one
// before they have saved it, and they have no other use for the caller's value.
#include "code/x86_64/stack_state.h"

#include <iterator>

namespace cicada::code {
namespace {

constexpr int64_t kDeepest = 1 << 28;
constexpr int64_t kFarthestSave = 128;  // words: unwind_rule's field

constexpr bool is_callee_saved(uint8_t reg) { return reg == kRbx || reg == kRbp || (reg >= kR12 && reg <= kR15); }

}  // namespace

std::optional<size_t> saved_index(uint8_t reg) {
  switch (reg) {
    case kRbx: return SAVED_RBX;
    case kRbp: return SAVED_RBP;
    case kR12: case kR13: case kR14: case kR15: return SAVED_R12 + (reg - kR12);
    default: return std::nullopt;
  }
}

__u8 dwarf_number(uint8_t reg) {
  static constexpr __u8 kNumbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
  return reg < std::size(kNumbers) ? kNumbers[reg] : reg;
}

bool StackState::set_stack(int64_t depth) {
  if (depth < 8 || depth > kDeepest) return false;
  stack = static_cast<int32_t>(depth);
  return true;
}

std::optional<int64_t> StackState::position(uint8_t reg) const {
  const int32_t depth = reg == kRsp ? stack : reg == kRbp ? frame : reg == copy_register && reg != kNoRegister ? copy : kUnknown;
  if (depth == kUnknown) return std::nullopt;
  return depth;
}

bool StackState::set(uint8_t reg, std::optional<int64_t> depth) {
  if (reg == kRsp) kept_at = kept = kUnknown;
  if (reg == kRsp && depth) return set_stack(*depth);
  const bool known = depth && *depth > -kDeepest && *depth < kDeepest;
  const int32_t value = known ? static_cast<int32_t>(*depth) : kUnknown;
  if (reg == kRsp) stack = value;
  if (reg == kRbp) frame = value;
  if (reg == copy_register && reg != kNoRegister) copy = value;
  if (copy == kUnknown) copy_register = kNoRegister;
  return true;
}

void StackState::make_copy(uint8_t reg, int64_t depth) {
  if (reg == kRsp || reg == kRbp || depth <= -kDeepest || depth >= kDeepest) return;
  copy = static_cast<int32_t>(depth);
  copy_register = reg;
}

void StackState::forget_scratch() {
  if (copy != kUnknown && !is_callee_saved(copy_register)) set(copy_register, std::nullopt);
}

// rsp goes down by that. What is below it and its red zone is lost.
void StackState::move_kept(int64_t amount) {
  if (!is_kept()) return;
  const int64_t after = kept_at + amount;
  if (after >= -ARCH_RED_ZONE && after < kDeepest) kept_at = static_cast<int32_t>(after);
  else kept_at = kept = kUnknown;
}

// An address that points `depth` below the CFA is stored at `at`, from rsp up.
void StackState::keep(std::optional<int64_t> depth, int64_t at) {
  overwrite(at, 8);
  if (!depth || stack != kUnknown || at < -ARCH_RED_ZONE || at >= kDeepest || *depth > INT16_MAX || *depth <= INT16_MIN) return;
  kept_at = static_cast<int32_t>(at);
  kept = static_cast<int32_t>(*depth);
}

void StackState::forget_red_zone() {
  if (is_kept() && kept_at < 0) kept_at = kept = kUnknown;
  for (size_t i = 0; i < saved.size(); ++i) {
    if (stack != kUnknown && int64_t{saved[i]} * 8 > stack && (written >> i & 1) == 0) saved[i] = 0;  // still in the register
  }
}

void StackState::overwrite(int64_t at, int64_t bytes) {
  if (is_kept() && at < kept_at + 8 && at + bytes > kept_at) kept_at = kept = kUnknown;
}

bool StackState::save(uint8_t reg, int64_t depth) {
  const auto index = saved_index(reg);
  if (!index || saved[*index] != 0 || depth < 16) return true;
  if (depth % 8 != 0 || depth / 8 > kFarthestSave) return false;
  saved[*index] = static_cast<uint8_t>(depth / 8);
  return true;
}

void StackState::restore(uint8_t reg, int64_t depth) {
  const auto index = saved_index(reg);
  if (!index || int64_t{saved[*index]} * 8 != depth) return;
  saved[*index] = 0;
  written &= static_cast<uint8_t>(~(1U << *index));
}

void StackState::note_written(uint8_t reg) {
  const auto index = saved_index(reg);
  if (index && saved[*index] != 0) written |= static_cast<uint8_t>(1U << *index);
}

void StackState::note_written(const Instruction& insn) {
  if (!has_unwritten()) return;
  for (const uint8_t reg : {insn.reg, insn.rm, uint8_t{kRbx}}) {  // rbx: also by bh
    const auto index = saved_index(reg);
    if (index && is_unwritten(*index) && insn.writes(static_cast<GeneralRegister>(reg))) note_written(reg);
  }
  const bool says_all = !insn.is(1, 0xa2) && !(insn.vex && insn.map == 2 && (insn.opcode == 0xf3 || insn.opcode == 0xf6));
  if (says_all) return;
  for (const GeneralRegister reg : {kRbx, kRbp, kR12, kR13, kR14, kR15}) {
    if (insn.writes_unsaid(reg)) note_written(reg);
  }
}

bool StackState::push(uint8_t reg) {
  if (stack == kUnknown) {
    const auto depth = position(reg);
    move_kept(8);
    keep(depth, 0);
    return !saved_index(reg) || saved[*saved_index(reg)] != 0 || depth;
  }
  return set_stack(int64_t{stack} + 8) && reuse(reg) && save(reg, stack);
}

// Another register is pushed where one was saved. False: that one has been written to since.
bool StackState::reuse(uint8_t reg) {
  for (size_t i = 0; i < saved.size(); ++i) {
    if (int64_t{saved[i]} * 8 != stack || saved_index(reg) == i) continue;
    if ((written >> i & 1) != 0) return false;
    saved[i] = 0;
  }
  return true;
}

bool StackState::pop(uint8_t reg) {
  if (stack == kUnknown) {
    const auto popped = kept_at == 0 ? std::optional<int64_t>(kept) : std::nullopt;
    note_written(reg);
    move_kept(-8);
    return set(reg, popped);
  }
  restore(reg, stack);
  note_written(reg);
  if (!set(reg, std::nullopt)) return false;
  return stack == kUnknown || set_stack(int64_t{stack} - 8);
}

bool StackState::leave() {
  set(kRsp, std::nullopt);
  if (frame == kUnknown) {
    note_written(kRbp);
    return true;
  }
  const int64_t depth = frame;
  frame = kUnknown;
  restore(kRbp, depth);
  note_written(kRbp);
  return set_stack(depth - 8);
}

bool StackState::add(uint8_t reg, int64_t amount) {
  if (reg == kRsp && stack == kUnknown) {
    move_kept(-amount);
    return true;
  }
  const auto before = position(reg);
  return set(reg, before ? std::optional(*before - amount) : std::nullopt);
}

bool StackState::apply(const Instruction& insn) {
  const uint8_t op = insn.opcode;
  const bool one_byte = insn.map == 0 && !insn.vex;
  if (insn.map == 1 && !insn.vex && (op & 0xf6) == 0xa0) return false;  // push and pop of fs and gs
  if (is_kept() && insn.rm == kRsp && insn.has_modrm && insn.mod != 3 && !insn.indexed && !(one_byte && op == 0x89 && insn.wide)) {
    for (int64_t unit = 1; unit <= (insn.scaled ? insn.vector : 1); unit *= 2) overwrite(insn.displacement * unit, insn.stored_bytes());
  }
  if (!insn.may_write_general()) return true;
  note_written(insn);
  if (!one_byte) {
    forget_written(insn);
    return true;
  }
  if ((op & 0xf0) == 0x50) {
    if (insn.operand16) return false;
    return op < 0x58 ? push(insn.reg) : pop(insn.reg);
  }
  switch (op) {
    case 0x68: case 0x6a: case 0x9c: return !insn.operand16 && push(kNoRegister);
    case 0x9d: return !insn.operand16 && pop(kNoRegister);
    case 0xc8: return false;
    case 0xc9: return leave();
    case 0x8f: return (insn.reg & 7) != 0 || (!insn.operand16 && pop(insn.mod == 3 ? insn.rm : uint8_t{kNoRegister}));
    case 0xff:
      if ((insn.reg & 7) != 6) break;
      if (insn.operand16) return false;
      if (stack != kUnknown || insn.mod == 3 || insn.rm != kRsp || insn.indexed || insn.displacement != kept_at) return push(kNoRegister);
      move_kept(8);  // a copy of what is kept
      keep(kept, 0);
      return true;
    default: break;
  }
  if (insn.wide && insn.mod == 3) {
    if (insn.is_group(0x81, 0) || insn.is_group(0x83, 0)) return add(insn.rm, insn.immediate);
    if (insn.is_group(0x81, 5) || insn.is_group(0x83, 5)) return add(insn.rm, -insn.immediate);
    if (insn.rm == kRsp && (insn.is_group(0x81, 4) || insn.is_group(0x83, 4))) {
      stack = kept_at = kept = kUnknown;
      return true;
    }
    if (op == 0x89 || op == 0x8b) {
      const uint8_t to = op == 0x89 ? insn.rm : insn.reg, from = op == 0x89 ? insn.reg : insn.rm;
      const auto depth = position(from);
      if (!set(to, depth)) return false;
      if (from == kRsp && depth) make_copy(to, *depth);
      return true;
    }
  }
  if (insn.wide && insn.has_modrm && insn.mod != 3 && !insn.indexed) {
    const auto base = position(insn.rm);
    const auto depth = base ? std::optional(*base - insn.displacement) : std::nullopt;
    const bool is_aligned = insn.rm == kRsp && stack == kUnknown;
    if (op == 0x8d) {
      if (is_aligned && insn.reg == kRsp) return add(kRsp, insn.displacement);
      if (!set(insn.reg, depth)) return false;
      // GCC's ends of loops, and what it keeps of a stack that it aligns.
      if (depth && (insn.reg == kR10 || insn.reg == kR11)) make_copy(insn.reg, *depth);
      return true;
    }
    if (op == 0x89 && is_aligned) keep(position(insn.reg), insn.displacement);
    if (op == 0x89) return !depth || save(insn.reg, *depth);
    if (op == 0x8b && depth) restore(insn.reg, *depth);
    if (op == 0x8b && is_aligned && insn.displacement == kept_at) {
      const int32_t known = kept;
      if (insn.reg == kRsp || insn.reg == kRbp) return set(insn.reg, known);
      make_copy(insn.reg, known);
      return true;
    }
  }
  forget_written(insn);
  return true;
}

// Of the registers whose positions are known.
void StackState::forget_written(const Instruction& insn) {
  if (insn.names(kRsp) && insn.writes(kRsp)) set(kRsp, std::nullopt);
  if (frame != kUnknown && ((insn.names(kRbp) && insn.writes(kRbp)) || insn.writes_unsaid(kRbp))) set(kRbp, std::nullopt);
  if (const auto reg = static_cast<GeneralRegister>(copy_register); reg != kNoRegister && (insn.writes(reg) || insn.writes_unsaid(reg))) set(reg, std::nullopt);
}

std::optional<StackState> StackState::meet(const StackState& a, const StackState& b) {
  StackState both = a;
  if (a.frame != b.frame) both.frame = kUnknown;
  if (a.copy != b.copy || a.copy_register != b.copy_register) {
    both.copy = kUnknown;
    both.copy_register = kNoRegister;
  }
  if (a.kept_at != b.kept_at || a.kept != b.kept) both.kept_at = both.kept = kUnknown;
  if (a.stack != b.stack) both.stack = kUnknown;
  if (!both.has_rule()) return std::nullopt;
  both.written |= b.written;
  for (size_t i = 0; i < both.saved.size(); ++i) {
    if (a.saved[i] == b.saved[i]) continue;
    if ((a.saved[i] != 0 && b.saved[i] != 0) || (both.written >> i & 1) != 0) return std::nullopt;
    both.saved[i] = 0;  // on both ways it is still in the register
  }
  return both;
}

StackState StackState::settled() const {
  StackState state = *this;
  state.written = 0;
  for (size_t i = 0; i < saved.size(); ++i) {
    if (stack != kUnknown && int64_t{saved[i]} * 8 > stack && (written >> i & 1) == 0) state.saved[i] = 0;
    if (state.saved[i] != 0) state.written |= static_cast<uint8_t>(1U << i);
  }
  return state;
}

unwind_rule StackState::to_rule() const {
  unwind_rule rule{};
  if (!has_rule()) return rule;
  rule.cfa_kind = CFA_OFFSET;
  const bool by_copy = copy != kUnknown && (is_callee_saved(copy_register) || kept_at < 0);  // unknown, or where a call or a signal writes
  const bool has_frame = frame != kUnknown && int64_t{saved[SAVED_RBP]} * 8 == frame;  // push %rbp; mov %rsp,%rbp
  // Where the stack pointer is behind a call is only known if the callee leaves its arguments there, as V8's do not.
  const bool by_frame = has_frame || (stack == kUnknown && frame != kUnknown);
  if (stack != kUnknown && !by_frame) {
    rule.cfa_reg = X86_RSP;
    rule.cfa_offset = stack;
  } else if (by_frame) {
    rule.cfa_reg = X86_RBP;
    rule.cfa_offset = frame;
  } else if (by_copy) {
    rule.cfa_reg = dwarf_number(copy_register);
    rule.cfa_offset = copy;
  } else {
    rule.cfa_kind = CFA_DEREF;
    rule.cfa_reg = X86_RSP;
    rule.cfa_offset = kept_at;
    rule.cfa_addend = static_cast<__s16>(kept);
  }
  for (size_t i = 0; i < saved.size(); ++i) rule.saved[i] = static_cast<__s8>(-int{saved[i]});
  return rule;
}

}  // namespace cicada::code

// SPDX-License-Identifier: Apache-2.0
// A callee-saved register counts as saved by the first push, or the first store to the stack, in a function: compilers do not write one
// before they have saved it, and have no other use for the caller's value.
#include "unwind/x86_64/stack_state.h"

namespace cicada::unwind {
namespace {

constexpr int64_t kDeepest = 1 << 28;
constexpr int64_t kFarthestSave = 128;  // words: unwind_rule's field

std::optional<size_t> saved_index(uint8_t reg) {
  switch (reg) {
    case kRbx: return SAVED_RBX;
    case kRbp: return SAVED_RBP;
    case kR12: case kR13: case kR14: case kR15: return SAVED_R12 + (reg - kR12);
    default: return std::nullopt;
  }
}

}  // namespace

bool StackState::set_stack(int64_t depth) {
  if (depth < 8 || depth > kDeepest) return false;
  stack = static_cast<int32_t>(depth);
  return true;
}

std::optional<int64_t> StackState::position(uint8_t reg) const {
  const int32_t depth = reg == kRsp ? stack : reg == kRbp ? frame : reg == kR11 ? probe : kUnknown;
  if (depth == kUnknown) return std::nullopt;
  return depth;
}

bool StackState::set(uint8_t reg, std::optional<int64_t> depth) {
  if (reg == kRsp && depth) return set_stack(*depth);
  const bool known = depth && *depth > -kDeepest && *depth < kDeepest;
  const int32_t value = known ? static_cast<int32_t>(*depth) : kUnknown;
  if (reg == kRsp) stack = value;
  if (reg == kRbp) frame = value;
  if (reg == kR11) probe = value;
  return true;
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
  if (index && int64_t{saved[*index]} * 8 == depth) saved[*index] = 0;
}

bool StackState::push(uint8_t reg) {
  if (stack == kUnknown) return !saved_index(reg) || saved[*saved_index(reg)] != 0;
  return set_stack(int64_t{stack} + 8) && save(reg, stack);
}

bool StackState::pop(uint8_t reg) {
  if (stack != kUnknown) restore(reg, stack);
  if (!set(reg, std::nullopt)) return false;
  return stack == kUnknown || set_stack(int64_t{stack} - 8);
}

bool StackState::leave() {
  stack = kUnknown;
  if (frame == kUnknown) return true;
  const int64_t depth = frame;
  frame = kUnknown;
  restore(kRbp, depth);
  return set_stack(depth - 8);
}

bool StackState::add(uint8_t reg, int64_t amount) {
  const auto before = position(reg);
  return set(reg, before ? std::optional(*before - amount) : std::nullopt);
}

bool StackState::apply(const Instruction& insn) {
  const uint8_t op = insn.opcode;
  const bool one_byte = insn.map == 0 && !insn.vex;
  if (!one_byte) {
    forget_written(insn);
    return true;
  }
  if ((op & 0xf0) == 0x50) {
    if (insn.operand16) return false;
    return op < 0x58 ? push(insn.reg) : pop(insn.reg);
  }
  if (insn.is(0, 0x68) || insn.is(0, 0x6a) || insn.is(0, 0x9c) || insn.is_group(0xff, 6)) return !insn.operand16 && push(kNoRegister);
  if (insn.is(0, 0x9d) || insn.is_group(0x8f, 0)) return !insn.operand16 && pop(insn.is(0, 0x8f) && insn.mod == 3 ? insn.rm : uint8_t{kNoRegister});
  if (insn.is(0, 0xc8)) return false;
  if (insn.is(0, 0xc9)) return leave();
  if (insn.wide && insn.mod == 3) {
    if (insn.is_group(0x81, 0) || insn.is_group(0x83, 0)) return add(insn.rm, insn.immediate);
    if (insn.is_group(0x81, 5) || insn.is_group(0x83, 5)) return add(insn.rm, -insn.immediate);
    if (op == 0x89) return set(insn.rm, position(insn.reg));
    if (op == 0x8b) return set(insn.reg, position(insn.rm));
  }
  if (insn.wide && insn.has_modrm && insn.mod != 3 && !insn.indexed) {
    const auto base = position(insn.rm);
    const auto depth = base ? std::optional(*base - insn.displacement) : std::nullopt;
    if (op == 0x8d) return set(insn.reg, depth);
    if (op == 0x89) return !depth || save(insn.reg, *depth);
    if (op == 0x8b && depth) restore(insn.reg, *depth);
  }
  forget_written(insn);
  return true;
}

void StackState::forget_written(const Instruction& insn) {
  for (const GeneralRegister reg : {kRsp, kRbp, kR11}) {
    if ((insn.reg == reg || insn.rm == reg) && insn.writes(reg)) set(reg, std::nullopt);
  }
}

std::optional<StackState> StackState::meet(const StackState& a, const StackState& b) {
  StackState both = a;
  if (a.frame != b.frame) both.frame = kUnknown;
  if (a.probe != b.probe) both.probe = kUnknown;
  if (a.stack != b.stack) {
    both.stack = kUnknown;
    if (!both.has_rule()) return std::nullopt;
  }
  for (size_t i = 0; i < both.saved.size(); ++i) {
    if (a.saved[i] == b.saved[i]) continue;
    if (a.saved[i] != 0 && b.saved[i] != 0) return std::nullopt;
    both.saved[i] = 0;  // on one way it is still in the register, so it is on both
  }
  return both;
}

unwind_rule StackState::to_rule() const {
  unwind_rule rule{};
  if (!has_rule()) return rule;
  rule.cfa_kind = CFA_OFFSET;
  rule.cfa_reg = stack != kUnknown ? X86_RSP : frame != kUnknown ? X86_RBP : X86_R11;
  rule.cfa_offset = stack != kUnknown ? stack : frame != kUnknown ? frame : probe;
  for (size_t i = 0; i < saved.size(); ++i) rule.saved[i] = static_cast<__s8>(-int{saved[i]});
  return rule;
}

}  // namespace cicada::unwind

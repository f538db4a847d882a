// SPDX-License-Identifier: Apache-2.0
// One x86-64 instruction: how long it is, and as much of its operands as following the stack pointer takes. Not a disassembler.
// Source: Intel SDM volume 2, chapter 2 (format) and appendix A (opcode maps).
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "base/byte_cursor.h"

namespace cicada::code {

// Hardware numbers, not DWARF's.
enum GeneralRegister : uint8_t { kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi, kR8, kR9, kR10, kR11, kR12, kR13, kR14, kR15, kRip, kNoRegister };

// Where control goes next.
enum class Flow : uint8_t { kNext, kReturn, kTrap, kFar, kJump, kBranch, kCall, kIndirectJump, kIndirectCall };

struct Instruction {
  uint8_t length = 0;
  uint8_t map = 0;  // 0: one-byte opcodes, 1: 0f, 2: 0f 38, 3: 0f 3a, 5 and 6: EVEX only
  uint8_t opcode = 0;
  bool vex = false;        // VEX or EVEX
  uint8_t vector = 16;     // bytes of a vector
  bool scaled = false;     // EVEX: the displacement has one byte, and counts operands, or parts of one
  bool wide = false;       // 64-bit operands (REX.W)
  bool rex = false;        // any REX: byte registers 4 to 7 are spl … dil, not ah … bh
  bool operand16 = false;  // 66
  bool repeated = false;   // f2 or f3, or what VEX has for them: of vectors, one scalar
  bool has_modrm = false;
  uint8_t mod = 0;          // 3: rm is a register
  uint8_t reg = 0;          // ModRM.reg with REX.R, or the register in the opcode's low bits with REX.B
  uint8_t rm = kNoRegister;  // the register, or the memory operand's base
  bool indexed = false;     // the memory operand has an index, too:
  uint8_t index = 0, scale = 0;  // this register, shifted left by that
  int32_t displacement = 0;
  int64_t immediate = 0;  // sign-extended; of jumps and calls: the distance from the instruction's end

  bool is(uint8_t opcode_map, uint8_t code) const { return !vex && map == opcode_map && opcode == code; }
  bool is_group(uint8_t code, uint8_t extension) const { return is(0, code) && (reg & 7) == extension; }
  bool is_nop() const { return (is(0, 0x90) && reg == kRax) || is(1, 0x1f); }
  bool is_padding() const { return is_nop() || is(0, 0xcc); }  // between functions
  bool is_ip_relative() const { return rm == kRip; }           // the memory operand: at `displacement` from the instruction's end
  bool loads_address() const { return is(0, 0x8d) && is_ip_relative(); }
  bool loads_immediate() const { return is(0, 0xc7) || (map == 0 && !vex && (opcode & 0xf8) == 0xb8); }
  Flow flow() const;
  bool ends_block() const {  // what is behind it is reached from elsewhere
    const Flow leads = flow();
    return leads == Flow::kReturn || leads == Flow::kJump || leads == Flow::kIndirectJump || leads == Flow::kTrap;
  }
  bool is_loop() const { return map == 0 && !vex && opcode >= 0xe0 && opcode <= 0xe2; }  // it writes rcx
  bool jumps_if_not_equal() const { return is(0, 0x75) || is(1, 0x85); }
  bool is_branch_target() const { return is(1, 0x1e) && mod == 3 && (reg & 7) == 7; }  // endbr64
  bool is_push() const { return map == 0 && !vex && (opcode & 0xf8) == 0x50; }  // of a register
  // endbr64, push, sub $…,%rsp: what many functions begin with, and few other blocks.
  bool is_prologue() const;
  bool names(GeneralRegister wanted) const { return reg == wanted || (rm == wanted && mod == 3); }  // as an operand, not as part of an address
  // False for nearly all vector instructions.
  bool may_write_general() const;
  // Errs on the side of yes. Not for what push, pop, call, ret and leave do to rsp and rbp.
  bool writes(GeneralRegister wanted) const;
  // Bytes that it writes to its memory operand; 0: none. Errs on the side of more.
  uint32_t stored_bytes() const;
  // What no operand names: mul, cpuid, rep movs and the like. Errs on the side of yes.
  bool writes_unsaid(GeneralRegister wanted) const;
};

// The instruction at the begin of `code`. Nothing: it is cut off, longer than 15 bytes, or of an unknown kind.
std::optional<Instruction> decode_instruction(Bytes code);

// Where calls of `code` lead, as offsets from its begin, and whatever else looks like one: instructions are not told apart, a gigabyte takes a second.
void find_possible_calls(Bytes code, const std::function<void(int64_t target)>& found);

}  // namespace cicada::code

// SPDX-License-Identifier: Apache-2.0
// DWARF expressions as call-frame information uses them: a stack machine over registers and memory, every operator that
// DWARF 5 section 6.4.2 allows there. Bounded: 64 values, 4,096 operations, so that a branch backwards ends.
#pragma once
#include <array>
#include <optional>

#include "abi/arch.h"
#include "base/byte_cursor.h"

namespace cicada::dwarf {

// Operators (DW_OP_…) that others look for by form.
enum Operator : uint8_t {
  kDeref = 0x06,
  kDrop = 0x13,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kGe = 0x2a,
  kLit0 = 0x30,
  kBreg0 = 0x70,
  kBregx = 0x92,
  kNop = 0x96,
};

// The operand of an operator that pushes a constant. Nothing: it is another operator.
std::optional<uint64_t> read_constant(uint8_t op, ByteCursor& cursor);

// The memory of the process, as far as it is at hand.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::optional<uint64_t> find_word(uint64_t address) const = 0;  // eight bytes, little-endian
  // `size` 1, 2, 4 or 8.
  std::optional<uint64_t> find(uint64_t address, unsigned size) const;
};

constexpr unsigned kRegisterCount = ARCH_RETURN + 1;  // DWARF numbers: general-purpose ones, then the return address

struct Registers {
  std::array<uint64_t, kRegisterCount> value{};
  uint32_t known = 0;  // a bit a register
  bool knows(uint64_t reg) const { return reg < kRegisterCount && (known >> reg & 1) != 0; }
  void set(unsigned reg, uint64_t v) {
    value[reg] = v;
    known |= 1u << reg;
  }
  void forget(unsigned reg) { known &= ~(1u << reg); }
};

enum class Evaluation : uint8_t {
  kDone,
  kMalformed,        // unknown operator, stack underflow, cut off
  kUnknownRegister,  // needs a register the walk has lost
  kUnreadable,       // memory that is not at hand
  kTooLong,
};

// `initial`: pushed first (the CFA, for a register's rule). On kDone `result` is the top of the stack.
Evaluation evaluate(Bytes expression, const Registers& registers, const Memory& memory, std::optional<uint64_t> initial,
                    uint64_t& result);

}  // namespace cicada::dwarf

// SPDX-License-Identifier: Apache-2.0
#include "dwarf/expression.h"

namespace cicada::dwarf {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr int kMaxOperations = 4096;

class Stack {
 public:
  bool push(uint64_t value) {
    if (depth_ == kMaxDepth) return false;
    values_[depth_++] = value;
    return true;
  }
  // The n-th value from the top; marks the stack as bad if there is none.
  uint64_t& at(size_t n) {
    if (n >= depth_) {
      bad_ = true;
      return none_ = 0;
    }
    return values_[depth_ - 1 - n];
  }
  uint64_t pop() {
    const uint64_t value = at(0);
    if (depth_ != 0) --depth_;
    return value;
  }
  bool bad() const { return bad_; }
  size_t depth() const { return depth_; }

 private:
  std::array<uint64_t, kMaxDepth> values_{};
  size_t depth_ = 0;
  bool bad_ = false;
  uint64_t none_ = 0;
};

int64_t as_signed(uint64_t v) { return static_cast<int64_t>(v); }

// Two operands, `b` the former top. False: not a binary operator, or division by zero.
bool apply_binary(uint8_t op, uint64_t a, uint64_t b, uint64_t& result) {
  switch (op) {
    case kAnd: result = a & b; return true;
    case 0x1b:  // div, signed; INT64_MIN / -1 wraps
      if (b == 0) return false;
      result = as_signed(b) == -1 ? -a : static_cast<uint64_t>(as_signed(a) / as_signed(b));
      return true;
    case kMinus: result = a - b; return true;
    case 0x1d:  // mod, unsigned
      if (b == 0) return false;
      result = a % b;
      return true;
    case 0x1e: result = a * b; return true;
    case 0x21: result = a | b; return true;
    case kPlus: result = a + b; return true;
    case kShl: result = b < 64 ? a << b : 0; return true;
    case 0x25: result = b < 64 ? a >> b : 0; return true;
    case 0x26: result = static_cast<uint64_t>(as_signed(a) >> (b < 64 ? b : 63)); return true;
    case 0x27: result = a ^ b; return true;
    case 0x29: result = a == b; return true;
    case kGe: result = as_signed(a) >= as_signed(b); return true;
    case 0x2b: result = as_signed(a) > as_signed(b); return true;
    case 0x2c: result = as_signed(a) <= as_signed(b); return true;
    case 0x2d: result = as_signed(a) < as_signed(b); return true;
    case 0x2e: result = a != b; return true;
    default: return false;
  }
}

}  // namespace

std::optional<uint64_t> read_constant(uint8_t op, ByteCursor& cursor) {
  switch (op) {
    case 0x03:  // addr
    case 0x0e:
    case 0x0f: return cursor.u64();
    case 0x08: return cursor.u8();
    case 0x09: return static_cast<uint64_t>(int64_t{cursor.s8()});
    case 0x0a: return cursor.u16();
    case 0x0b: return static_cast<uint64_t>(int64_t{cursor.s16()});
    case 0x0c: return cursor.u32();
    case 0x0d: return static_cast<uint64_t>(int64_t{cursor.s32()});
    case 0x10: return cursor.uleb128();
    case 0x11: return static_cast<uint64_t>(cursor.sleb128());
    default:
      if (op < kLit0 || op >= kLit0 + 32) return std::nullopt;
      return op - kLit0;
  }
}

std::optional<uint64_t> Memory::find(uint64_t address, unsigned size) const {
  if (size == 8) return find_word(address);
  auto word = find_word(address);
  unsigned shift = 0;
  if (!word) {  // the last bytes at hand: the word that ends there
    shift = 8 - size;
    word = find_word(address - shift);
  }
  if (!word) return std::nullopt;
  return *word >> (8 * shift) & ((uint64_t{1} << (8 * size)) - 1);
}

Evaluation evaluate(Bytes expression, const Registers& registers, const Memory& memory, std::optional<uint64_t> initial,
                    uint64_t& result) {
  Stack stack;
  if (initial) stack.push(*initial);
  ByteCursor cursor(expression);
  for (int operations = 0; !cursor.at_end(); ++operations) {
    if (operations == kMaxOperations) return Evaluation::kTooLong;
    const uint8_t op = cursor.u8();
    uint64_t value = 0;
    if (const auto constant = read_constant(op, cursor)) {
      if (!stack.push(*constant)) return Evaluation::kTooLong;
    } else if ((op >= kBreg0 && op < kBreg0 + 32) || op == kBregx) {
      const uint64_t reg = op == kBregx ? cursor.uleb128() : op - uint64_t{kBreg0};
      const int64_t offset = cursor.sleb128();
      if (!registers.knows(reg)) return cursor.failed() ? Evaluation::kMalformed : Evaluation::kUnknownRegister;
      if (!stack.push(registers.value[reg] + static_cast<uint64_t>(offset))) return Evaluation::kTooLong;
    } else {
      bool pushed = true;
      switch (op) {
        case kDeref:
        case 0x94: {  // deref_size
          const unsigned size = op == kDeref ? 8 : cursor.u8();
          if (size != 1 && size != 2 && size != 4 && size != 8) return Evaluation::kMalformed;
          const uint64_t address = stack.pop();
          if (stack.bad()) return Evaluation::kMalformed;
          const auto content = memory.find(address, size);
          if (!content) return Evaluation::kUnreadable;
          pushed = stack.push(*content);
          break;
        }
        case 0x12: value = stack.at(0); pushed = stack.push(value); break;             // dup
        case kDrop: stack.pop(); break;
        case 0x14: value = stack.at(1); pushed = stack.push(value); break;             // over
        case 0x15: value = stack.at(cursor.u8()); pushed = stack.push(value); break;   // pick
        case 0x16: std::swap(stack.at(0), stack.at(1)); break;                         // swap
        case 0x17: {                                                                  // rot
          value = stack.at(0);
          stack.at(0) = stack.at(1);
          stack.at(1) = stack.at(2);
          stack.at(2) = value;
          break;
        }
        case 0x19:  // abs
          if (as_signed(stack.at(0)) < 0) stack.at(0) = -stack.at(0);
          break;
        case 0x1f: stack.at(0) = -stack.at(0); break;         // neg
        case 0x20: stack.at(0) = ~stack.at(0); break;         // not
        case kPlusUconst: stack.at(0) += cursor.uleb128(); break;
        case 0x28:                                            // bra
        case 0x2f: {                                          // skip
          const int16_t distance = cursor.s16();
          if (op == 0x2f || stack.pop() != 0) {
            const int64_t to = static_cast<int64_t>(cursor.position()) + distance;
            if (cursor.failed() || to < 0) return Evaluation::kMalformed;
            cursor.seek(static_cast<uint64_t>(to));
          }
          break;
        }
        case kNop: break;
        default: {
          const uint64_t b = stack.pop();
          const uint64_t a = stack.pop();
          if (!apply_binary(op, a, b, value)) return Evaluation::kMalformed;
          pushed = stack.push(value);
        }
      }
      if (!pushed) return Evaluation::kTooLong;
    }
    if (cursor.failed() || stack.bad()) return Evaluation::kMalformed;
  }
  result = stack.at(0);
  return stack.bad() ? Evaluation::kMalformed : Evaluation::kDone;
}

}  // namespace cicada::dwarf

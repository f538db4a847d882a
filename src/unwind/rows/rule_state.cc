// SPDX-License-Identifier: Apache-2.0
// Expressions are recognised by form, not by bytes: base register + constants, at most one dereference. That covers realigned
// stacks of GCC, clang and hand-written CFI (OpenSSL), and glibc's signal frame. Intel's vector mathematics (libmvec, libjsvml) saves
// registers at the CFA rounded down + constant. The lazy-binding stubs are the one exception: their expression is a fixed sequence
// with two variable bytes, how many bytes into a stub the push is over.
#include "unwind/rows/rule_state.h"

#include <bit>
#include <optional>

namespace cicada::unwind {
namespace {

enum Op : uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDrop = 0x13,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kGe = 0x2a,
  kLit0 = 0x30,
  kBreg0 = 0x70,
  kBregRsp = kBreg0 + 7,
  kBregRip = kBreg0 + 16,
  kBregx = 0x92,
  kNop = 0x96,
};

// *(reg + before) + after, or reg + before.
struct Linear {
  uint64_t reg = 0;
  int64_t before = 0, after = 0;
  bool dereferenced = false;
};

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

std::optional<int64_t> read_constant(uint8_t op, ByteCursor& cursor) {
  switch (op) {
    case kConst1u: return cursor.u8();
    case kConst1s: return cursor.s8();
    case kConst2u: return cursor.u16();
    case kConst2s: return cursor.s16();
    case kConst4u: return cursor.u32();
    case kConst4s: return cursor.s32();
    case kConst8u:
    case kConst8s: return cursor.s64();
    case kConstu: return static_cast<int64_t>(cursor.uleb128());
    case kConsts: return cursor.sleb128();
    default:
      if (op < kLit0 || op >= kLit0 + 32) return std::nullopt;
      return op - kLit0;
  }
}

std::optional<Linear> find_linear(Bytes expression) {
  ByteCursor cursor(expression);
  Linear linear;
  const uint8_t first = cursor.u8();
  if (first >= kBreg0 && first < kBreg0 + 32) {
    linear.reg = first - kBreg0;
  } else if (first == kBregx) {
    linear.reg = cursor.uleb128();
  } else {
    return std::nullopt;
  }
  linear.before = cursor.sleb128();
  while (!cursor.at_end()) {
    int64_t number = 0;
    const uint8_t op = cursor.u8();
    if (op == kNop) continue;
    if (op == kDeref) {
      if (linear.dereferenced) return std::nullopt;
      linear.dereferenced = true;
      continue;
    }
    if (op == kPlusUconst) {
      number = static_cast<int64_t>(cursor.uleb128());
    } else {
      const auto constant = read_constant(op, cursor);
      if (!constant) return std::nullopt;
      const uint8_t sum = cursor.u8();
      if (sum != kPlus && sum != kMinus) return std::nullopt;
      number = sum == kPlus ? *constant : static_cast<int64_t>(-static_cast<uint64_t>(*constant));
    }
    int64_t& part = linear.dereferenced ? linear.after : linear.before;
    part = wrapping_add(part, number);
  }
  if (cursor.failed()) return std::nullopt;
  return linear;
}

// ((CFA - 8) & -2^shift) + offset, of the CFA that a saved register's expression begins with.
struct Aligned {
  unsigned shift = 0;
  int64_t offset = 0;
};

std::optional<Aligned> find_aligned(Bytes expression) {
  ByteCursor cursor(expression);
  const auto below = read_constant(cursor.u8(), cursor);
  if (below != 8 || cursor.u8() != kMinus) return std::nullopt;
  const auto mask = read_constant(cursor.u8(), cursor);
  if (!mask || cursor.u8() != kAnd) return std::nullopt;
  const uint64_t alignment = -static_cast<uint64_t>(*mask);
  const auto offset = read_constant(cursor.u8(), cursor);
  if (!offset || cursor.u8() != kPlus || !cursor.at_end() || cursor.failed()) return std::nullopt;
  if (!std::has_single_bit(alignment) || alignment < 2) return std::nullopt;
  return Aligned{.shift = static_cast<unsigned>(std::countr_zero(alignment)), .offset = *offset};
}

// rsp + 8 + (((rip & 15) >= bound) << 3)
std::optional<int32_t> find_plt_bound(Bytes e) {
  if (e.size() != 11 || e[0] != kBregRsp || e[1] != 8 || e[2] != kBregRip || e[3] != 0 || e[4] != kLit0 + 15 ||
      e[5] != kAnd || e[6] < kLit0 || e[6] > kLit0 + 15 || e[7] != kGe || e[8] != kLit0 + 3 || e[9] != kShl || e[10] != kPlus) {
    return std::nullopt;
  }
  return e[6] - kLit0;
}

// Where struct ucontext keeps rbx rbp r12 … r15 rsp rip, in bytes (asm/sigcontext.h, 40 bytes in).
constexpr int kUcontextSaved[SAVED_COUNT] = {128, 120, 72, 80, 88, 96};
constexpr int kUcontextRsp = 160, kUcontextRip = 168;

}  // namespace

const char* to_text(Misfit misfit) {
  switch (misfit) {
#define X(name, text) \
  case Misfit::k##name: return text;
    CICADA_MISFITS(X)
#undef X
    case Misfit::kCount: break;
  }
  return "unknown";
}

void RuleState::cfa_expression(Bytes expression) {
  if (cfa_kind() == CFA_OFFSET) register_offset_ = offset();
  low_ = (low_ & kViaMask) | CFA_UNSUPPORTED;
  high_ &= kSavedMask;
  if (const auto bound = find_plt_bound(expression)) {
    low_ = (low_ & kViaMask) | CFA_PLT | 7 << 8 | static_cast<uint64_t>(*bound) << 32;
    set_misfit(kCfa, Misfit::kNone);
    return;
  }
  const auto linear = find_linear(expression);
  if (!linear || linear->reg > 15 || linear->before != static_cast<int32_t>(linear->before) ||
      linear->after != static_cast<int16_t>(linear->after)) {
    set_misfit(kCfa, Misfit::kCfaExpression);
    return;
  }
  cfa(linear->reg, linear->before);
  if (linear->dereferenced) {
    low_ = (low_ & ~uint64_t{0xff}) | CFA_DEREF;
    high_ |= uint64_t{static_cast<uint16_t>(linear->after)} << 48;
  }
}

void RuleState::set_saved(unsigned item, Misfit misfit) {
  if (item < SAVED_COUNT) {
    clear_via(item);
    set_words(item, 0);
  }
  if (item == kReturn) return set_return(kReturnSaved, misfit);
  if (item != kIgnored) set_misfit(item, misfit);
}

void RuleState::set_via(unsigned item, unsigned base, int64_t offset) {
  const auto words = static_cast<int8_t>(offset / 8);
  if (offset != int64_t{words} * 8) return set_saved(item, Misfit::kSavedOffset);
  clear_via(item);
  if (via() != 0 && (via() & kBaseMask) != base) return set_saved(item, Misfit::kSavedTwoBases);
  set_via_bits(via() | 1u << item | base);
  set_words(item, words);
  set_misfit(item, Misfit::kNone);
}

void RuleState::value_is(uint64_t reg, int64_t offset) {
  const unsigned item = item_of(reg);
  if (item == kStack) set_misfit(kStack, offset == 0 ? Misfit::kNone : Misfit::kStackPointer);
  else set_saved(item, item == kReturn ? Misfit::kReturnAddress : Misfit::kSavedElsewhere);
}

void RuleState::in_register(uint64_t reg, uint64_t other) {
  if (reg == other) return same_value(reg);
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn ? Misfit::kReturnAddress : item == kStack ? Misfit::kStackPointer : Misfit::kSavedElsewhere);
}

void RuleState::expression(uint64_t reg, Bytes expression) {
  const unsigned item = item_of(reg);
  if (item == kIgnored) return;
  const bool dropped = !expression.empty() && expression[0] == kDrop;  // the CFA that it begins with
  const auto linear = find_linear(expression.subspan(dropped ? 1 : 0));
  const bool plain = linear && !linear->dereferenced;
  if (item == kReturn) {
    set_saved(kReturn, Misfit::kReturnAddress);
    if (plain && linear->reg == 7) {
      set_return(kReturnViaStackPointer, Misfit::kReturnAddress);  // a signal frame, or a misfit after all: see to_rare_rule()
      return_offset_ = linear->before;
    }
    return;
  }
  if (item == kStack) {
    set_misfit(kStack, plain && linear->reg == 7 && linear->before == kUcontextRsp ? Misfit::kSignalFrame : Misfit::kStackPointer);
    return;
  }
  if (const auto aligned = find_aligned(expression)) return set_via(item, aligned->shift << 8, aligned->offset);
  if (!plain) return set_saved(item, Misfit::kSavedExpression);
  switch (linear->reg) {
    case 3: return set_via(item, SAVE_BASE_RBX << 6, linear->before);
    case 6: return set_via(item, SAVE_BASE_RBP << 6, linear->before);
    case 7: return set_via(item, SAVE_BASE_RSP << 6, linear->before);
    case 10: return set_via(item, SAVE_BASE_R10 << 6, linear->before);
    default: return set_saved(item, Misfit::kSavedExpression);
  }
}

void RuleState::value_expression(uint64_t reg, Bytes) {
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn ? Misfit::kReturnAddress : item == kStack ? Misfit::kStackPointer : Misfit::kSavedElsewhere);
}

void RuleState::undefined(uint64_t reg) {
  const unsigned item = item_of(reg);
  if (item == kReturn) set_return(kReturnUndefined, Misfit::kNone);
  else set_saved(item, item == kStack ? Misfit::kStackPointer : Misfit::kUndefined);
}

void RuleState::same_value(uint64_t reg) {
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn  ? Misfit::kReturnAddress
                  : item == kStack ? Misfit::kStackPointer
                                   : Misfit::kNone);
}

void RuleState::restore_rare(unsigned item, const RuleState& initial) {
  if (item == kIgnored) return;
  if (item < SAVED_COUNT) {
    if ((initial.via() >> item & 1) != 0) {
      return set_via(item, initial.via() & kBaseMask, 8 * int64_t{initial.words(item)});
    }
    clear_via(item);
    set_words(item, initial.words(item));
  } else if (item == kReturn) {
    set_return(initial.doubts_ & kReturnMask, Misfit::kNone);
    return_offset_ = initial.return_offset_;
  }
  set_misfit(item, initial.misfit(item));
}

bool RuleState::is_kernel_signal_frame() const {
  if (cfa_kind() != CFA_DEREF || cfa_reg() != 7 || addend() != 0) return false;
  const int64_t ucontext = int64_t{offset()} - kUcontextRsp;
  if ((doubts_ & kReturnViaStackPointer) == 0 || return_offset_ != ucontext + kUcontextRip) return false;
  for (unsigned i = 0; i < SAVED_COUNT; ++i) {
    const bool via_rsp = (via() >> i & 1) != 0 && (via() & kBaseMask) == SAVE_BASE_RSP << 6;
    if (misfit(i) != Misfit::kNone || !via_rsp || 8 * int64_t{words(i)} != ucontext + kUcontextSaved[i]) return false;
  }
  return true;
}

RuleWords RuleState::to_rare_rule() const {
  const bool signal_frame = (doubts_ & kSignalFrame) != 0;
  if (signal_frame && is_kernel_signal_frame()) {
    return {CFA_SIGNAL | 7 << 8 | static_cast<uint64_t>(offset() - kUcontextRsp) << 32, 0};
  }
  if ((doubts_ & kReturnUndefined) != 0) return {CFA_OUTERMOST, 0};
  Misfit why = signal_frame ? Misfit::kSignalFrame : Misfit::kNone;
  for (unsigned item = 0; item <= kCfa && why == Misfit::kNone; ++item) why = misfit(item);
  return {CFA_UNSUPPORTED | uint64_t{static_cast<uint8_t>(why)} << 8, 0};
}

}  // namespace cicada::unwind

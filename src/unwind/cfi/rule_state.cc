// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi/rule_state.h"

#include <optional>

#include "dwarf/expression.h"
#include "unwind/arch.h"
#include "unwind/cfi/expression_form.h"

namespace cicada::unwind {
namespace {

// Where struct ucontext keeps a register, in bytes.
int ucontext_offset(unsigned reg) {
  unsigned word = 0;
  while (arch_ucontext_register(word) != reg) ++word;
  return static_cast<int>(ARCH_UCONTEXT_REGISTERS + 8 * word);
}

}  // namespace

void RuleState::cfa_expression(Bytes expression) {
  if (cfa_kind() == CFA_OFFSET) register_offset_ = offset();
  low_ = (low_ & kViaMask) | CFA_UNSUPPORTED;
  high_ &= kSavedMask;
  if (const auto bound = find_plt_bound(expression)) {
    low_ = (low_ & kViaMask) | CFA_PLT | ARCH_SP << 8 | static_cast<uint64_t>(*bound) << 32;
    set_reason(kCfa, UnsupportedReason::kNone);
    return;
  }
  const auto linear = find_linear(expression);
  if (!linear || linear->reg >= ARCH_REGISTERS || linear->before != static_cast<int32_t>(linear->before) ||
      linear->after != static_cast<int16_t>(linear->after)) {
    set_reason(kCfa, UnsupportedReason::kCfaExpression);
    return;
  }
  cfa(linear->reg, linear->before);
  if (linear->dereferenced) {
    low_ = (low_ & ~uint64_t{0xff}) | CFA_DEREF;
    high_ |= uint64_t{static_cast<uint16_t>(linear->after)} << 48;
  }
}

void RuleState::set_saved(unsigned item, UnsupportedReason why) {
  if (item < SAVED_COUNT) {
    clear_via(item);
    set_words(item, 0);
  }
  if (item == kReturn) return set_return(kReturnSaved, why);
  if (item != kIgnored) set_reason(item, why);
}

void RuleState::set_via(unsigned item, unsigned base, int64_t offset) {
  const auto words = static_cast<int8_t>(offset / 8);
  if (offset != int64_t{words} * 8) return set_saved(item, UnsupportedReason::kSavedOffset);
  clear_via(item);
  if (via() != 0 && (via() & kBaseMask) != base) return set_saved(item, UnsupportedReason::kSavedTwoBases);
  set_via_bits(via() | 1u << item | base);
  set_words(item, words);
  set_reason(item, UnsupportedReason::kNone);
}

void RuleState::value_is(uint64_t reg, int64_t offset) {
  const unsigned item = item_of(reg);
  if (item == kStack) set_reason(kStack, offset == 0 ? UnsupportedReason::kNone : UnsupportedReason::kStackPointer);
  else set_saved(item, item == kReturn ? UnsupportedReason::kReturnAddress : UnsupportedReason::kSavedElsewhere);
}

void RuleState::in_register(uint64_t reg, uint64_t other) {
  if (reg == other) return same_value(reg);
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn ? UnsupportedReason::kReturnAddress : item == kStack ? UnsupportedReason::kStackPointer : UnsupportedReason::kSavedElsewhere);
}

void RuleState::expression(uint64_t reg, Bytes expression) {
  const unsigned item = item_of(reg);
  if (item == kIgnored) return;
  const bool dropped = !expression.empty() && expression[0] == dwarf::kDrop;  // the CFA that it begins with
  const auto linear = find_linear(expression.subspan(dropped ? 1 : 0));
  const bool plain = linear && !linear->dereferenced;
  if (item == kReturn) {
    set_saved(kReturn, UnsupportedReason::kReturnAddress);
    if (plain && linear->reg == ARCH_SP) {
      set_return(kReturnViaStackPointer, UnsupportedReason::kReturnAddress);  // a signal frame, or unsupported after all: see to_rare_rule()
      return_offset_ = linear->before;
    }
    return;
  }
  if (item == kStack) {
    set_reason(kStack, plain && linear->reg == ARCH_SP && linear->before == ucontext_offset(ARCH_SP) ? UnsupportedReason::kSignalFrame : UnsupportedReason::kStackPointer);
    return;
  }
  if (const auto aligned = find_aligned(expression)) return set_via(item, aligned->shift << 8, aligned->offset);
  if (!plain) return set_saved(item, UnsupportedReason::kSavedExpression);
  for (unsigned base = 0; base < 4; ++base) {
    if (linear->reg == arch_save_base(base)) return set_via(item, base << 6, linear->before);
  }
  set_saved(item, UnsupportedReason::kSavedExpression);
}

void RuleState::value_expression(uint64_t reg, Bytes) {
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn ? UnsupportedReason::kReturnAddress : item == kStack ? UnsupportedReason::kStackPointer : UnsupportedReason::kSavedElsewhere);
}

void RuleState::undefined(uint64_t reg) {
  const unsigned item = item_of(reg);
  if (item == kReturn) set_return(kReturnUndefined, UnsupportedReason::kNone);
  else set_saved(item, item == kStack ? UnsupportedReason::kStackPointer : UnsupportedReason::kUndefined);
}

void RuleState::same_value(uint64_t reg) {
  const unsigned item = item_of(reg);
  set_saved(item, item == kReturn  ? UnsupportedReason::kReturnAddress
                  : item == kStack ? UnsupportedReason::kStackPointer
                                   : UnsupportedReason::kNone);
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
    set_return(initial.doubts_ & kReturnMask, UnsupportedReason::kNone);
    return_offset_ = initial.return_offset_;
  }
  set_reason(item, initial.reason(item));
}

bool RuleState::is_kernel_signal_frame() const {
  if (cfa_kind() != CFA_DEREF || cfa_reg() != ARCH_SP || addend() != 0) return false;
  const int64_t ucontext = int64_t{offset()} - ucontext_offset(ARCH_SP);
  if ((doubts_ & kReturnViaStackPointer) == 0 || return_offset_ != ucontext + ARCH_UCONTEXT_IP) return false;
  static constexpr unsigned kRegisters[] = {
#define X(number, reg) reg,
      ARCH_SAVED_REGISTERS(X)
#undef X
  };
  for (unsigned i = 0; i < SAVED_COUNT; ++i) {
    const bool via_stack_pointer = (via() >> i & 1) != 0 && (via() & kBaseMask) == SAVE_BASE_SP << 6;
    if (reason(i) != UnsupportedReason::kNone || !via_stack_pointer || 8 * int64_t{words(i)} != ucontext + ucontext_offset(kRegisters[i])) return false;
  }
  return true;
}

RuleWords RuleState::to_rare_rule() const {
  const bool signal_frame = (doubts_ & kSignalFrame) != 0;
  if (signal_frame && is_kernel_signal_frame()) {
    return {CFA_SIGNAL | ARCH_SP << 8 | static_cast<uint64_t>(offset() - ucontext_offset(ARCH_SP)) << 32, 0};
  }
  if ((doubts_ & kReturnUndefined) != 0) return {CFA_OUTERMOST, 0};
  UnsupportedReason why = signal_frame ? UnsupportedReason::kSignalFrame : UnsupportedReason::kNone;
  for (unsigned item = 0; item <= kCfa && why == UnsupportedReason::kNone; ++item) why = reason(item);
  return {CFA_UNSUPPORTED | uint64_t{static_cast<uint8_t>(why)} << 8, 0};
}

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// The rule that call-frame instructions are building, kept packed in the form of the table all the time: an instruction changes
// a byte or two, and a row costs one 16-byte comparison instead of a walk over 17 register rules.
//
// What does not fit unwind_rule is remembered per register, since a later instruction may undo it; a rule with any such doubt left
// becomes CFA_UNSUPPORTED, its cfa_reg saying why. Registers that the walk does not carry are ignored.
#pragma once
#include <array>
#include <cstdint>

#include "abi/unwind_table.h"
#include "base/byte_cursor.h"
#include "unwind/rows/rule_set.h"

namespace cicada::unwind {

// State of dwarf/cfi_program.h but for what concerns the program itself (remember, restore, row). The rule is two words and all
// doubts are a third, so that a row that fits (almost every one) is a test for zero. Bytes stored one by one and loaded as a
// word stall the processor: with unwind_rule itself as the state, libLLVM took twice as long.
class RuleState {
 public:
  explicit RuleState(bool signal_frame = false)
      : doubts_((signal_frame ? kSignalFrame : 0) | kReturnUndefined | uint64_t{static_cast<uint8_t>(UnsupportedReason::kCfaExpression)} << (4 * kCfa)) {}

  void cfa(uint64_t reg, int64_t offset) {
    low_ = (low_ & kViaMask) | CFA_OFFSET | (reg & (ARCH_REGISTERS - 1)) << 8 | static_cast<uint64_t>(offset) << 32;
    high_ &= kSavedMask;
    const UnsupportedReason why = reg >= ARCH_REGISTERS                                   ? UnsupportedReason::kCfaRegister
                       : offset != static_cast<int32_t>(offset) ? UnsupportedReason::kCfaOffset
                                                                : UnsupportedReason::kNone;
    if (why != UnsupportedReason::kNone || doubts_ != 0) [[unlikely]] set_reason(kCfa, why);
  }
  void cfa_register(uint64_t reg) {
    if (cfa_kind() != CFA_OFFSET) [[unlikely]] return cfa(reg, register_offset_);
    low_ = (low_ & ~uint64_t{0xff00}) | (reg & (ARCH_REGISTERS - 1)) << 8;
    if (reg >= ARCH_REGISTERS) set_reason(kCfa, UnsupportedReason::kCfaRegister);
  }
  void cfa_offset(int64_t offset) {
    low_ = (low_ & 0xffffffff) | static_cast<uint64_t>(offset) << 32;
    if (offset != static_cast<int32_t>(offset)) [[unlikely]] set_reason(kCfa, UnsupportedReason::kCfaOffset);
    else if (doubts_ != 0 && reason(kCfa) == UnsupportedReason::kCfaOffset) [[unlikely]] set_reason(kCfa, UnsupportedReason::kNone);
    if (cfa_kind() != CFA_OFFSET) [[unlikely]] set_reason(kCfa, UnsupportedReason::kCfaExpression);
  }
  void cfa_expression(Bytes expression);
  void saved_at(uint64_t reg, int64_t offset) {
    const unsigned item = item_of(reg);
    if (item < SAVED_COUNT) {
      clear_via(item);
      const auto words = static_cast<int8_t>(offset >> 3);
      set_words(item, words);
      const bool fits = offset != 0 && offset == int64_t{words} * 8;
      if (!fits || doubts_ != 0) [[unlikely]] set_reason(item, fits ? UnsupportedReason::kNone : UnsupportedReason::kSavedOffset);
    } else if (item == kReturn) {
      set_return(kReturnSaved, offset == -8 ? UnsupportedReason::kNone : UnsupportedReason::kReturnAddress);
    } else if (item == kStack) {
      set_reason(kStack, UnsupportedReason::kStackPointer);
    }
  }
  void value_is(uint64_t reg, int64_t offset);
  void in_register(uint64_t reg, uint64_t other);
  void expression(uint64_t reg, Bytes expression);
  void value_expression(uint64_t reg, Bytes expression);
  void undefined(uint64_t reg);
  void same_value(uint64_t reg);
  void restore_from(uint64_t reg, const RuleState& initial) {
    const unsigned item = item_of(reg);
    if (item < SAVED_COUNT && ((low_ | initial.low_) >> (16 + item) & 1) == 0) [[likely]] {
      const uint64_t mask = uint64_t{0xff} << (8 * item);
      high_ = (high_ & ~mask) | (initial.high_ & mask);
      if ((doubts_ | initial.doubts_) != 0) [[unlikely]] set_reason(item, initial.reason(item));
    } else {
      restore_rare(item, initial);
    }
  }

  void copy_rule(uint64_t& low, uint64_t& high) const {
    low = low_;
    high = high_;
    if (doubts_ != 0) [[unlikely]] {
      const RuleWords rare = to_rare_rule();
      low = rare.low;
      high = rare.high;
    }
  }

 private:
  enum Item : unsigned { kReturn = SAVED_COUNT, kStack, kCfa, kIgnored };
  // doubts_: four bits of UnsupportedReason an item, then these.
  static constexpr uint64_t kReturnSaved = 0, kReturnUndefined = uint64_t{1} << 40, kReturnViaStackPointer = uint64_t{1} << 41;
  static constexpr uint64_t kReturnMask = kReturnUndefined | kReturnViaStackPointer;
  static constexpr uint64_t kSignalFrame = uint64_t{1} << 42;
  // unwind_rule as two little-endian words: kind, register, via_base, via_align, offset; six saved, addend.
  static constexpr uint64_t kViaMask = 0xffff0000, kSavedMask = 0xffffffffffff;
  static constexpr unsigned kBaseMask = 0xffc0;  // of via(): what the registers are saved relative to

  static unsigned item_of(uint64_t reg) { return reg <= ARCH_RETURN ? kItemOf[reg] : unsigned{kIgnored}; }
  static constexpr std::array<uint8_t, ARCH_RETURN + 1> kItemOf = [] {
    std::array<uint8_t, ARCH_RETURN + 1> items{};
    items.fill(kIgnored);
#define X(number, reg) items[reg] = number;
    ARCH_SAVED_REGISTERS(X)
#undef X
    items[ARCH_SP] = kStack;
    items[ARCH_RETURN] = kReturn;
    return items;
  }();
  unsigned cfa_kind() const { return low_ & 0xff; }
  unsigned cfa_reg() const { return low_ >> 8 & 0xff; }
  unsigned via() const { return low_ >> 16 & 0xffff; }  // via_base, via_align
  int32_t offset() const { return static_cast<int32_t>(low_ >> 32); }
  int16_t addend() const { return static_cast<int16_t>(high_ >> 48); }
  int8_t words(unsigned item) const { return static_cast<int8_t>(high_ >> (8 * item)); }
  void set_words(unsigned item, int8_t words) {
    high_ = (high_ & ~(uint64_t{0xff} << (8 * item))) | uint64_t{static_cast<uint8_t>(words)} << (8 * item);
  }
  UnsupportedReason reason(unsigned item) const { return static_cast<UnsupportedReason>(doubts_ >> (4 * item) & 15); }
  void set_reason(unsigned item, UnsupportedReason why) {
    doubts_ = (doubts_ & ~(uint64_t{15} << (4 * item))) | uint64_t{static_cast<uint8_t>(why)} << (4 * item);
  }
  void set_return(uint64_t kind, UnsupportedReason why) {
    doubts_ = (doubts_ & ~kReturnMask) | kind;
    set_reason(kReturn, why);
  }
  void set_via_bits(unsigned via) { low_ = (low_ & ~kViaMask) | uint64_t{via & 0xffff} << 16; }
  void clear_via(unsigned item) {
    if ((low_ & kViaMask) == 0) [[likely]] return;
    const unsigned rest = via() & ~(1u << item);
    set_via_bits((rest & 63) == 0 ? 0 : rest);
  }
  void set_saved(unsigned item, UnsupportedReason why);
  void set_via(unsigned item, unsigned base, int64_t offset);
  void restore_rare(unsigned item, const RuleState& initial);
  bool is_kernel_signal_frame() const;
  RuleWords to_rare_rule() const;

  // Not neighbours: the compiler would load both words as one vector right after a store to one of them, which stalls.
  uint64_t low_ = 0;
  uint64_t doubts_;
  uint64_t high_ = 0;
  int64_t return_offset_ = 0;    // for kReturnViaStackPointer
  int32_t register_offset_ = 0;  // of the last CFA that was register + offset: libgcrypt's assembly goes back to it
};

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// The rule that call-frame instructions are building, kept packed in the form of the table all the time: an instruction changes
// a byte or two, and a row costs one 16-byte comparison instead of a walk over 17 register rules.
//
// What does not fit unwind_rule is remembered per register, since a later instruction may undo it; a rule with any misfit left
// becomes CFA_UNSUPPORTED, its cfa_reg saying why (enum Misfit). Registers that the walk does not carry are ignored.
#pragma once
#include <cstdint>

#include "abi/unwind_table.h"
#include "base/byte_cursor.h"

namespace cicada::unwind {

//   X(name, text)   the classes `cicada debug rows --unsupported` counts
#define CICADA_MISFITS(X)                                                      \
  X(None, "fits")                                                              \
  X(CfaExpression, "CFA by an expression of another form")                     \
  X(CfaRegister, "CFA from a register that is not general-purpose")            \
  X(CfaOffset, "CFA offset out of range")                                      \
  X(SavedExpression, "register saved where another form of expression says")   \
  X(SavedOffset, "register saved at an odd or far offset")                     \
  X(SavedElsewhere, "register kept in another register or as a computed value") \
  X(SavedTwoBases, "registers saved relative to two bases")                    \
  X(Undefined, "callee-saved register undefined")                              \
  X(ReturnAddress, "return address not at CFA - 8")                            \
  X(StackPointer, "stack pointer of the caller is not the CFA")                \
  X(SignalFrame, "signal frame of another layout")                             \
  X(TooManyRules, "more than 65,535 distinct rules")                           \
  X(HandlerReturn, "about to return to an exception's handler")

enum class Misfit : uint8_t {
#define X(name, text) k##name,
  CICADA_MISFITS(X)
#undef X
  kCount,
};
const char* to_text(Misfit misfit);

// An unwind_rule as two words.
struct RuleWords {
  uint64_t low = 0, high = 0;
  bool operator==(const RuleWords&) const = default;
};

// State of dwarf/cfi_program.h but for what concerns the program itself (remember, restore, row). The rule is two words and all
// doubts are a third, so that a row that fits (almost every one) is a test for zero. Bytes stored one by one and loaded as a
// word stall the processor: with unwind_rule itself as the state, libLLVM took twice as long.
class RuleState {
 public:
  explicit RuleState(bool signal_frame = false)
      : doubts_((signal_frame ? kSignalFrame : 0) | kReturnUndefined | uint64_t{static_cast<uint8_t>(Misfit::kCfaExpression)} << (4 * kCfa)) {}

  void cfa(uint64_t reg, int64_t offset) {
    low_ = (low_ & kViaMask) | CFA_OFFSET | (reg & 15) << 8 | static_cast<uint64_t>(offset) << 32;
    high_ &= kSavedMask;
    const Misfit why = reg > 15                                   ? Misfit::kCfaRegister
                       : offset != static_cast<int32_t>(offset) ? Misfit::kCfaOffset
                                                                : Misfit::kNone;
    if (why != Misfit::kNone || doubts_ != 0) [[unlikely]] set_misfit(kCfa, why);
  }
  void cfa_register(uint64_t reg) {
    if (cfa_kind() != CFA_OFFSET) [[unlikely]] return cfa(reg, register_offset_);
    low_ = (low_ & ~uint64_t{0xff00}) | (reg & 15) << 8;
    if (reg > 15) set_misfit(kCfa, Misfit::kCfaRegister);
  }
  void cfa_offset(int64_t offset) {
    low_ = (low_ & 0xffffffff) | static_cast<uint64_t>(offset) << 32;
    if (offset != static_cast<int32_t>(offset)) [[unlikely]] set_misfit(kCfa, Misfit::kCfaOffset);
    else if (doubts_ != 0 && misfit(kCfa) == Misfit::kCfaOffset) [[unlikely]] set_misfit(kCfa, Misfit::kNone);
    if (cfa_kind() != CFA_OFFSET) [[unlikely]] set_misfit(kCfa, Misfit::kCfaExpression);
  }
  void cfa_expression(Bytes expression);
  void saved_at(uint64_t reg, int64_t offset) {
    const unsigned item = item_of(reg);
    if (item < SAVED_COUNT) {
      clear_via(item);
      const auto words = static_cast<int8_t>(offset >> 3);
      set_words(item, words);
      const bool fits = offset != 0 && offset == int64_t{words} * 8;
      if (!fits || doubts_ != 0) [[unlikely]] set_misfit(item, fits ? Misfit::kNone : Misfit::kSavedOffset);
    } else if (item == kReturn) {
      set_return(kReturnSaved, offset == -8 ? Misfit::kNone : Misfit::kReturnAddress);
    } else if (item == kStack) {
      set_misfit(kStack, Misfit::kStackPointer);
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
      if ((doubts_ | initial.doubts_) != 0) [[unlikely]] set_misfit(item, initial.misfit(item));
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
  // doubts_: four bits of Misfit an item, then these.
  static constexpr uint64_t kReturnSaved = 0, kReturnUndefined = uint64_t{1} << 40, kReturnViaStackPointer = uint64_t{1} << 41;
  static constexpr uint64_t kReturnMask = kReturnUndefined | kReturnViaStackPointer;
  static constexpr uint64_t kSignalFrame = uint64_t{1} << 42;
  // unwind_rule as two little-endian words: kind, register, via_base, via_align, offset; six saved, addend.
  static constexpr uint64_t kViaMask = 0xffff0000, kSavedMask = 0xffffffffffff;
  static constexpr unsigned kBaseMask = 0xffc0;  // of via(): what the registers are saved relative to

  static unsigned item_of(uint64_t reg) {
    return reg < 16 ? kItemOf[reg] : reg == 16 ? unsigned{kReturn} : unsigned{kIgnored};
  }
  static constexpr uint8_t kItemOf[16] = {kIgnored, kIgnored, kIgnored, SAVED_RBX, kIgnored,  kIgnored,  SAVED_RBP, kStack,
                                          kIgnored, kIgnored, kIgnored, kIgnored,  SAVED_R12, SAVED_R13, SAVED_R14, SAVED_R15};
  unsigned cfa_kind() const { return low_ & 0xff; }
  unsigned cfa_reg() const { return low_ >> 8 & 0xff; }
  unsigned via() const { return low_ >> 16 & 0xffff; }  // via_base, via_align
  int32_t offset() const { return static_cast<int32_t>(low_ >> 32); }
  int16_t addend() const { return static_cast<int16_t>(high_ >> 48); }
  int8_t words(unsigned item) const { return static_cast<int8_t>(high_ >> (8 * item)); }
  void set_words(unsigned item, int8_t words) {
    high_ = (high_ & ~(uint64_t{0xff} << (8 * item))) | uint64_t{static_cast<uint8_t>(words)} << (8 * item);
  }
  Misfit misfit(unsigned item) const { return static_cast<Misfit>(doubts_ >> (4 * item) & 15); }
  void set_misfit(unsigned item, Misfit misfit) {
    doubts_ = (doubts_ & ~(uint64_t{15} << (4 * item))) | uint64_t{static_cast<uint8_t>(misfit)} << (4 * item);
  }
  void set_return(uint64_t kind, Misfit misfit) {
    doubts_ = (doubts_ & ~kReturnMask) | kind;
    set_misfit(kReturn, misfit);
  }
  void set_via_bits(unsigned via) { low_ = (low_ & ~kViaMask) | uint64_t{via & 0xffff} << 16; }
  void clear_via(unsigned item) {
    if ((low_ & kViaMask) == 0) [[likely]] return;
    const unsigned rest = via() & ~(1u << item);
    set_via_bits((rest & 63) == 0 ? 0 : rest);
  }
  void set_saved(unsigned item, Misfit misfit);
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

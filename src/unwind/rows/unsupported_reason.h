// SPDX-License-Identifier: Apache-2.0
// Why a rule that the compiler wrote does not fit unwind_rule: CFA_UNSUPPORTED's cfa_reg. The walk of such a frame is deferred.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cicada::unwind {

//   X(name, text)   the classes that `cicada debug rows --unsupported` counts
#define CICADA_UNSUPPORTED_REASONS(X)                                            \
  X(None, "fits")                                                                \
  X(CfaExpression, "CFA by an expression of another form")                       \
  X(CfaRegister, "CFA from a register that is not general-purpose")              \
  X(CfaOffset, "CFA offset out of range")                                        \
  X(SavedExpression, "register saved where another form of expression says")     \
  X(SavedOffset, "register saved at an odd or far offset")                       \
  X(SavedElsewhere, "register kept in another register or as a computed value")  \
  X(SavedTwoBases, "registers saved relative to two bases")                      \
  X(Undefined, "callee-saved register undefined")                                \
  X(ReturnAddress, "return address not at CFA - 8")                              \
  X(StackPointer, "stack pointer of the caller is not the CFA")                  \
  X(SignalFrame, "signal frame of another layout")                               \
  X(TooManyRules, "more than 65,535 distinct rules")                             \
  X(HandlerReturn, "about to return to an exception's handler")                  \
  X(Unread, "without CFI, and not read yet")

enum class UnsupportedReason : uint8_t {
#define X(name, text) k##name,
  CICADA_UNSUPPORTED_REASONS(X)
#undef X
  kCount,
};

inline const char* to_text(UnsupportedReason reason) {
  static constexpr const char* kTexts[] = {
#define X(name, text) text,
      CICADA_UNSUPPORTED_REASONS(X)
#undef X
  };
  return reason < UnsupportedReason::kCount ? kTexts[static_cast<size_t>(reason)] : "unknown";
}

}  // namespace cicada::unwind

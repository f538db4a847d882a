// SPDX-License-Identifier: Apache-2.0
// A rule found by other means than call-frame information.
#pragma once
#include <cstdint>

#include "abi/unwind_table.h"

namespace cicada::unwind {

// [begin, end) has this rule; bytes from where the finder says.
struct CodeRule {
  uint32_t begin, end;
  unwind_rule rule;
};

inline unwind_rule rule_of_kind(unwind_cfa_kind kind, int32_t offset = 0) {
  unwind_rule rule{};
  rule.cfa_kind = static_cast<__u8>(kind);
  rule.cfa_reg = kind == CFA_OUTERMOST || kind == CFA_FRAME_POINTER ? 0 : ARCH_SP;
  rule.cfa_offset = offset;
  return rule;
}

// CFA = stack pointer + offset; `saved_fp`: in words from the CFA, 0: untouched.
inline unwind_rule stack_pointer_plus(int32_t offset, int8_t saved_fp = 0) {
  unwind_rule rule = rule_of_kind(CFA_OFFSET, offset);
  rule.saved[ARCH_SAVED_FP] = saved_fp;
  return rule;
}

}  // namespace cicada::unwind

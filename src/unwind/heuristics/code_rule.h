// SPDX-License-Identifier: Apache-2.0
// A rule for code without CFI, found by other means than an FDE.
#pragma once
#include <cstdint>

#include "abi/unwind_table.h"

namespace cicada::unwind {

// [begin, end) has this rule; bytes from where the finder says.
struct CodeRule {
  uint32_t begin, end;
  unwind_rule rule;
};

// CFA = rsp + offset; `saved_rbp`: in words from the CFA, 0: untouched.
inline unwind_rule stack_pointer_plus(int32_t offset, int8_t saved_rbp = 0) {
  unwind_rule rule{};
  rule.cfa_kind = CFA_OFFSET;
  rule.cfa_reg = 7;
  rule.cfa_offset = offset;
  rule.saved[SAVED_RBP] = saved_rbp;
  return rule;
}

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// DWARF expressions that unwind_rule can hold, recognised by form, not by bytes: base register + constants, at most one dereference. That
// covers realigned stacks of GCC, clang and hand-written CFI (OpenSSL), and glibc's signal frame. Intel's vector mathematics (libmvec,
// libjsvml) saves registers at the CFA rounded down + constant.
#pragma once
#include <optional>

#include "base/byte_cursor.h"

namespace cicada::unwind {

// *(reg + before) + after, or reg + before.
struct LinearExpression {
  uint64_t reg = 0;
  int64_t before = 0, after = 0;
  bool dereferenced = false;
};
std::optional<LinearExpression> find_linear(Bytes expression);

// ((CFA - 8) & -2^shift) + offset, of the CFA that a saved register's expression begins with.
struct AlignedExpression {
  unsigned shift = 0;
  int64_t offset = 0;
};
std::optional<AlignedExpression> find_aligned(Bytes expression);

}  // namespace cicada::unwind

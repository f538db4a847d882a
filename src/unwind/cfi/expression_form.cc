// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi/expression_form.h"

#include <bit>

#include "dwarf/expression.h"

namespace cicada::unwind {

using namespace dwarf;  // operators

namespace {

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

std::optional<LinearExpression> find_linear(Bytes expression) {
  ByteCursor cursor(expression);
  LinearExpression linear;
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
      number = static_cast<int64_t>(sum == kPlus ? *constant : -*constant);
    }
    int64_t& part = linear.dereferenced ? linear.after : linear.before;
    part = wrapping_add(part, number);
  }
  if (cursor.failed()) return std::nullopt;
  return linear;
}

std::optional<AlignedExpression> find_aligned(Bytes expression) {
  ByteCursor cursor(expression);
  const auto below = read_constant(cursor.u8(), cursor);
  if (below != 8 || cursor.u8() != kMinus) return std::nullopt;
  const auto mask = read_constant(cursor.u8(), cursor);
  if (!mask || cursor.u8() != kAnd) return std::nullopt;
  const uint64_t alignment = -*mask;
  const auto offset = read_constant(cursor.u8(), cursor);
  if (!offset || cursor.u8() != kPlus || !cursor.at_end() || cursor.failed()) return std::nullopt;
  if (!std::has_single_bit(alignment) || alignment < 2) return std::nullopt;
  return AlignedExpression{.shift = static_cast<unsigned>(std::countr_zero(alignment)), .offset = static_cast<int64_t>(*offset)};
}

}  // namespace cicada::unwind

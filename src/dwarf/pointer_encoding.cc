// SPDX-License-Identifier: Apache-2.0
#include "dwarf/pointer_encoding.h"

namespace cicada::dwarf {

std::optional<uint64_t> read_pointer(ByteCursor& cursor, uint8_t encoding, const PointerBases& bases) {
  if (encoding == kOmitted || (encoding & kIndirect) != 0) {
    cursor.fail();
    return std::nullopt;
  }
  const uint8_t relative_to = encoding & 0x70;
  if (relative_to == kAligned) {
    const uint64_t at = bases.section.value + cursor.position();
    cursor.skip(-at & 7);
    const uint64_t value = cursor.u64();
    return cursor.failed() ? std::nullopt : std::optional(value);
  }
  uint64_t base = 0;
  switch (relative_to) {
    case kAbsolute: break;
    case kPcRelative: base = bases.section.value + cursor.position(); break;
    case kTextRelative: base = bases.text.value; break;
    case kDataRelative: base = bases.data.value; break;
    case kFunctionRelative: base = bases.function.value; break;
    default: cursor.fail(); return std::nullopt;
  }
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case kAbsolute:
    case kUdata8:
    case kSdata8: value = cursor.u64(); break;
    case kUleb128: value = cursor.uleb128(); break;
    case kUdata2: value = cursor.u16(); break;
    case kUdata4: value = cursor.u32(); break;
    case kSleb128: value = static_cast<uint64_t>(cursor.sleb128()); break;
    case kSdata2: value = static_cast<uint64_t>(int64_t{cursor.s16()}); break;
    case kSdata4: value = static_cast<uint64_t>(int64_t{cursor.s32()}); break;
    default: cursor.fail();
  }
  if (cursor.failed()) return std::nullopt;
  return base + value;
}

}  // namespace cicada::dwarf

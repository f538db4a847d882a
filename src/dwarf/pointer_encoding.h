// SPDX-License-Identifier: Apache-2.0
// The pointer encodings of .eh_frame and .eh_frame_hdr (DW_EH_PE_*): how a number is stored, and what it is relative to.
// Source: Linux Standard Base 5.0, section 10.5.
#pragma once
#include <optional>

#include "base/address.h"
#include "base/byte_cursor.h"

namespace cicada::dwarf {

enum PointerEncoding : uint8_t {
  kAbsolute = 0x00,
  kUleb128 = 0x01,
  kUdata2 = 0x02,
  kUdata4 = 0x03,
  kUdata8 = 0x04,
  kSleb128 = 0x09,
  kSdata2 = 0x0a,
  kSdata4 = 0x0b,
  kSdata8 = 0x0c,
  kPcRelative = 0x10,
  kTextRelative = 0x20,
  kDataRelative = 0x30,
  kFunctionRelative = 0x40,
  kAligned = 0x50,
  kIndirect = 0x80,
  kOmitted = 0xff,
};

// What a relative pointer may be relative to.
struct PointerBases {
  LinkAddr section;   // where the cursor's first byte is linked: the base of kPcRelative
  LinkAddr text;      // of the image
  LinkAddr data;      // .got, or .eh_frame_hdr itself
  LinkAddr function;  // begin of the FDE at hand
};

// The pointer at the cursor, as a link address; wraps around modulo 2^64 like the linker's arithmetic.
// Nothing (and a failed cursor) for kOmitted, kIndirect (the target's memory is not at hand) and unknown encodings.
std::optional<uint64_t> read_pointer(ByteCursor& cursor, uint8_t encoding, const PointerBases& bases);

}  // namespace cicada::dwarf

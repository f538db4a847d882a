// SPDX-License-Identifier: Apache-2.0
// The part of a stack that was copied. Borrows the bytes.
#pragma once
#include <cstdint>
#include <optional>

#include "base/byte_cursor.h"
#include "dwarf/expression.h"

namespace cicada::unwind {

class CopiedStack final : public dwarf::Memory {
 public:
  // `begin`: the address of the first byte. `pages`: which pages are in the copy, as in unwind_request.
  CopiedStack(Bytes bytes, uint64_t begin, uint64_t pages) : bytes_(bytes), begin_(begin), pages_(pages) {}

  std::optional<uint64_t> find_word(uint64_t address) const override;
  // What is in it from this address up to the next page that is missing, `size` bytes at most; all of it if the address is not in it.
  // Borrows the same bytes.
  CopiedStack part(uint64_t address, size_t size) const;
  Bytes bytes() const { return bytes_; }
  uint64_t begin() const { return begin_; }
  uint64_t pages() const { return pages_; }

 private:
  std::optional<uint64_t> find_offset(uint64_t address) const;

  Bytes bytes_;
  uint64_t begin_, pages_;
};

}  // namespace cicada::unwind

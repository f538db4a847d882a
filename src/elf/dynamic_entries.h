// SPDX-License-Identifier: Apache-2.0
// What an image says to the loader: the entries of PT_DYNAMIC up to DT_NULL.
// Any bytes may come in. Borrows the file.
#pragma once
#include <algorithm>
#include <optional>

#include "base/byte_cursor.h"
#include "elf/elf_file.h"

namespace cicada::elf {

class DynamicEntries {
 public:
  explicit DynamicEntries(const ElfFile& elf) : elf_(elf) {
    const auto segment = std::find_if(elf.segments().begin(), elf.segments().end(), [](const Segment& s) { return s.type == PT_DYNAMIC; });
    if (segment != elf.segments().end()) bytes_ = find_subspan(elf.bytes(), segment->offset.value, segment->file_size).value_or(Bytes());
  }
  // Calls found(tag, value) for each.
  template <typename Found>
  void for_each(Found&& found) const {
    for (ByteCursor entries(bytes_); entries.remaining() >= sizeof(Elf64_Dyn);) {
      const uint64_t tag = entries.u64(), value = entries.u64();
      if (tag == DT_NULL) return;
      found(tag, value);
    }
  }
  // The last one counts.
  std::optional<uint64_t> find(uint64_t tag) const {
    std::optional<uint64_t> value;
    for_each([&](uint64_t one, uint64_t its_value) { value = one == tag ? its_value : value; });
    return value;
  }
  // What the offsets of DT_NEEDED, DT_SONAME and DT_RUNPATH are in.
  Bytes strings() const {
    const auto address = find(DT_STRTAB);
    return address && *address != 0 ? elf_.contents_at(LinkAddr(*address)) : Bytes();
  }

 private:
  const ElfFile& elf_;
  Bytes bytes_;
};

}  // namespace cicada::elf

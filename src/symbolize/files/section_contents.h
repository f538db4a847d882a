// SPDX-License-Identifier: Apache-2.0
// The bytes of a section as the compiler wrote them: SHF_COMPRESSED (zlib and zstd) and the older ".zdebug_" undone. Own code
// because the libelf of Debian 12 does not know zstd and trusts the announced size.
// Bounds: what the budget allows for all sections of a file; an announced size that the compressed bytes cannot produce is refused before any
// memory is taken.
#pragma once
#include <memory>
#include <string_view>

#include "elf/elf_file.h"
#include "base/work_budget.h"

namespace cicada::symbolize {

// For the sections of one file: debug information comes to three or four times its compressed size.
WorkBudget decompression_budget(const elf::ElfFile& elf);

// Borrows from the file where nothing was compressed, owns otherwise.
class SectionContents {
 public:
  SectionContents() = default;
  // `name` as ".debug_info"; ".zdebug_info" is found too. Empty if absent, SHT_NOBITS or out of the file.
  // Fails: kCorrupt, kUnsupported (unknown compression), kLimit.
  static Result<SectionContents> load(const elf::ElfFile& elf, std::string_view name, WorkBudget& budget);
  Bytes bytes() const { return bytes_; }
  size_t memory_bytes() const { return owned_ ? bytes_.size() : 0; }

 private:
  Bytes bytes_;
  struct Unmap {
    size_t size;
    Unmap() : size(0) {}
    explicit Unmap(size_t bytes) : size(bytes) {}
    void operator()(uint8_t* memory) const;
  };
  std::unique_ptr<uint8_t, Unmap> owned_;
  friend struct Decompression;
};

}  // namespace cicada::symbolize

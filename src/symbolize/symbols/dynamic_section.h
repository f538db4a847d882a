// SPDX-License-Identifier: Apache-2.0
// The run-time view of an image's symbols: what the dynamic loader uses, so it is there even when section headers are not.
// DT_SYMTAB has no count: it follows from DT_HASH's chain count or from the last chain of DT_GNU_HASH.
// Borrows the file.
#pragma once
#include "elf/elf_file.h"

namespace cicada::symbolize {

class DynamicSection {
 public:
  // Anything missing or contradictory leaves that part empty.
  static DynamicSection read(const elf::ElfFile& elf);
  Bytes symbols() const { return symbols_; }
  Bytes strings() const { return strings_; }
  Bytes plt_relocations() const { return plt_relocations_; }  // Elf64_Rela of DT_JMPREL
  LinkAddr plt_got() const { return plt_got_; }

 private:
  Bytes symbols_, strings_, plt_relocations_;
  LinkAddr plt_got_;
};

}  // namespace cicada::symbolize

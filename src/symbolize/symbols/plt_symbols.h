// SPDX-License-Identifier: Apache-2.0
// Names the linker's stubs: "memcpy@plt". A stub jumps through a GOT slot, a relocation fills the slot with a symbol; that is
// followed backwards, so every layout (.plt, .plt.sec with endbr64, .plt.got) is read the same way.
// Owns the names.
#pragma once
#include <deque>
#include <string>

#include "symbolize/symbols/symbol_index.h"

namespace cicada::symbolize {

class PltSymbols {
 public:
  static PltSymbols read(const elf::ElfFile& elf);
  void append_to(SymbolIndexBuilder& builder) const;
  size_t size() const { return stubs_.size(); }

 private:
  struct Stub {
    Range<LinkAddr> code;
    std::string name;
  };
  std::deque<Stub> stubs_;  // names must not move
};

}  // namespace cicada::symbolize

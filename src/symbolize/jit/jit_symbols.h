// SPDX-License-Identifier: Apache-2.0
// Address -> JIT symbol, per address space. Where code was replaced by newer code at the same place, the newer entry wins:
// symbols are taken in the order they were written.
// Borrows the vectors.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "symbolize/jit/jit_symbol.h"

namespace cicada::symbolize {

class JitSymbols {
 public:
  JitSymbols() = default;
  explicit JitSymbols(const std::vector<JitSymbol>& symbols) { append(symbols); }
  // Newer ones.
  void append(const std::vector<JitSymbol>& symbols);
  const JitSymbol* find(uint32_t address_space, RuntimeAddr address) const;

 private:
  struct Piece {
    uint64_t end = 0;
    const JitSymbol* symbol = nullptr;
  };
  using Pieces = std::map<uint64_t, Piece>;  // by begin; disjoint
  static void overwrite(Pieces& pieces, const JitSymbol& symbol);
  std::unordered_map<uint32_t, Pieces> spaces_;
};

}  // namespace cicada::symbolize

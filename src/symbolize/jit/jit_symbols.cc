// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_symbols.h"

namespace cicada::symbolize {

void JitSymbols::append(const std::vector<JitSymbol>& symbols) {
  for (const JitSymbol& symbol : symbols) {
    if (!symbol.code.empty()) overwrite(spaces_[symbol.address_space], symbol);
  }
}

void JitSymbols::overwrite(Pieces& pieces, const JitSymbol& symbol) {
  const uint64_t begin = symbol.code.begin.value, end = symbol.code.end.value;
  auto at = pieces.lower_bound(begin);
  if (at != pieces.begin()) {
    auto before = std::prev(at);
    const Piece old = before->second;
    if (old.end > begin) before->second.end = begin;
    if (old.end > end) at = pieces.emplace(end, old).first;
  }
  while (at != pieces.end() && at->first < end) {
    const Piece old = at->second;
    at = pieces.erase(at);
    if (old.end > end) at = pieces.emplace(end, old).first;
  }
  pieces[begin] = {end, &symbol};
}

const JitSymbol* JitSymbols::find(uint32_t address_space, RuntimeAddr address) const {
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return nullptr;
  auto at = space->second.upper_bound(address.value);
  if (at == space->second.begin()) return nullptr;
  --at;
  return address.value < at->second.end ? at->second.symbol : nullptr;
}

}  // namespace cicada::symbolize

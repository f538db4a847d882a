// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_namer.h"

#include <utility>

namespace cicada::symbolize {

void JitIndex::add(std::vector<JitSymbol> symbols) {
  const std::lock_guard lock(new_mutex_);
  if (!symbols.empty()) new_.push_back(std::move(symbols));
}

NamedAddresses JitIndex::name(uint32_t address_space, std::span<const uint64_t> addresses, const std::stop_token& stop) {
  constexpr uint64_t kTextPerAddress = 16 << 10;
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<JitSymbol>> fresh;
  {
    const std::lock_guard new_lock(new_mutex_);
    fresh = std::exchange(new_, {});
  }
  for (std::vector<JitSymbol>& symbols : fresh) symbols_.append(indexed_.emplace_back(std::move(symbols)));
  WorkBudget budget(kTextPerAddress * (addresses.size() + 1), stop);
  NamedAddressesBuilder builder(addresses.size(), as_is_, budget);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const JitSymbol* symbol = symbols_.find(address_space, RuntimeAddr(addresses[i]));
    if (symbol == nullptr) continue;
    const SourcePosition position{.linkage_name = symbol->name, .file = symbol->file, .line = symbol->line, .source = symbol->source};
    builder.set(i, std::span(&position, 1));
  }
  return builder.take();
}

}  // namespace cicada::symbolize

// SPDX-License-Identifier: Apache-2.0
#include "symbolize/kernel/kernel_namer.h"

#include <algorithm>

namespace cicada::symbolize {

Result<NamedAddresses> KernelNamer::name(std::span<const uint64_t> addresses, NameDepth, const std::stop_token& stop) {
  constexpr uint64_t kTextPerAddress = 4 << 10;
  std::vector<KernelSymbol> symbols;
  TRY(names_.resolve(addresses, symbols));
  WorkBudget budget(kTextPerAddress * (addresses.size() + 1), stop);
  NamedAddressesBuilder builder(addresses.size(), demangled_, budget);
  for (size_t i = 0; i < std::min(addresses.size(), symbols.size()); ++i) {
    const KernelSymbol& symbol = symbols[i];
    if (symbol.name.empty()) continue;
    const SourcePosition position{.linkage_name = symbol.name, .source = symbol.source, .module = symbol.module};
    builder.set(i, std::span(&position, 1));
  }
  return builder.take();
}

}  // namespace cicada::symbolize

// SPDX-License-Identifier: Apache-2.0
// module: symbolize
#include "symbolize/jit/jit_symbols.h"
#include "symbolize/jit/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::symbolize;
  std::vector<JitSymbol> symbols;
  size_t used = 0;
  const auto counts = append_perf_map({reinterpret_cast<const char*>(data), size}, 1, symbols, used);
  CHECK(used <= size && counts.symbols == symbols.size());
  const JitSymbols index(symbols);
  if (!symbols.empty()) CHECK(index.find(1, symbols.back().code.begin) == &symbols.back());
  return 0;
}

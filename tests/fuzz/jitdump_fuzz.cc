// SPDX-License-Identifier: Apache-2.0
// module: symbolize
#include "symbolize/jit/jit_symbols.h"
#include "symbolize/jit/jitdump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::symbolize;
  std::vector<JitSymbol> symbols;
  if (!append_jitdump(cicada::Bytes(data, size), "fuzz", 0, 1, symbols)) return 0;
  const JitSymbols index(symbols);
  for (const JitSymbol& symbol : symbols) CHECK(!symbol.code.empty() && index.find(1, symbol.code.begin) != nullptr);
  return 0;
}

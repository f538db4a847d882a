// SPDX-License-Identifier: Apache-2.0
// Images as the tests and fuzz targets of this directory ask them.
#pragma once
#include "symbolize/symbols/image_symbols.h"

namespace cicada::symbolize {

inline std::unique_ptr<ImageSymbols> open_symbols(elf::ElfFile elf, const std::string& path, const SymbolizeOptions& options = {}) {
  return ImageSymbols::open(std::move(elf), path, companions_in({}), options);
}

// With linkage names only.
inline NamedAddresses name_checked(const ImageSymbols& symbols, std::span<const LinkAddr> addresses) {
  DemangleCache demangled(Demangle::kNone, false);
  NamedAddresses named = symbols.name(addresses, NameDepth::kFull, demangled);
  CHECK(named.check(addresses.size()));
  return named;
}

}  // namespace cicada::symbolize

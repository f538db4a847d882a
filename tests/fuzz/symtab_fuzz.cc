// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// Symbol tables, PLT stubs, PT_DYNAMIC and demangling of an arbitrary ELF file; functions without a symbol.
#include "base/byte_cursor.h"
#include "names/demangle.h"
#include "symbolize/symbols/plt_symbols.h"
#include "symbolize/symbols/symbol_index.h"
#include "symbolize/symbols/unnamed_functions.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::symbolize;
  const auto elf = cicada::elf::ElfFile::parse_copy(cicada::Bytes(data, size), "fuzz");
  if (!elf) return 0;
  SymbolIndexBuilder builder;
  builder.append_section(*elf, ".symtab", cicada::profile::NameSource::kSymtab);
  builder.append_section(*elf, ".dynsym", cicada::profile::NameSource::kDynsym);
  builder.append_dynamic(*elf);
  const PltSymbols plt = PltSymbols::read(*elf);
  plt.append_to(builder);
  const SymbolIndex index = builder.build();
  UnnamedFunctions unnamed(*elf);
  for (const auto& function : unnamed.named()) CHECK(!function.name.empty() && function.code.contains(function.code.begin));
  for (const auto& section : elf->sections()) {
    for (const uint64_t offset : {uint64_t{0}, section.size / 2, section.size}) {
      const auto function = unnamed.find(section.address + offset);
      CHECK(!function || function->begin <= section.address + offset);
      const auto symbol = index.find(section.address + offset);
      if (!symbol) continue;
      CHECK(symbol->code.contains(section.address + offset));
      cicada::names::demangle(cicada::names::fold_clone(symbol->name), cicada::names::Demangle::kShort);
    }
  }
  return 0;
}

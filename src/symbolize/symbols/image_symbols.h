// SPDX-License-Identifier: Apache-2.0
// Everything one image can say about its addresses: symbol tables (its own, MiniDebugInfo's, its debug file's), PLT stubs, and
// inlined calls and lines from DWARF, wherever that is.
//
//   auto symbols = TRY(ImageSymbols::open(fd, path, companions, options));
//   NamedAddresses names = symbols->name(sorted_addresses, NameDepth::kFull, demangled, stop);
//
// A descriptor goes in, flat answers come out; other files are asked for through CompanionFiles. Owns the files. Opening reads symbol tables
// only; DWARF is opened by the first question that needs it and looked at one compilation unit at a time, and nothing of that is kept: memory does
// not grow with the debug information.
// Threads: name(), partition(), find_functions() and find_parameters() from any number at once.
#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "symbolize/dwarf/parameters.h"
#include "symbolize/files/companion_files.h"
#include "symbolize/namer.h"
#include "symbolize/symbolize_options.h"
#include "symbolize/symbols/function_search.h"
#include "symbolize/symbols/symbol_index.h"

namespace cicada::symbolize {

class ImageSymbols {
 public:
  // `path` is where the image was seen; debug files are looked for beside it and in options.debug_dirs. A bad debug file costs
  // one diagnostic and is left out. Fails: as FileMapping::map and ElfFile::parse.
  static Result<std::unique_ptr<ImageSymbols>> open(int fd, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                                    const SymbolizeOptions& options);
  static std::unique_ptr<ImageSymbols> open(elf::ElfFile elf, const std::string& path, std::shared_ptr<CompanionFiles> companions,
                                            const SymbolizeOptions& options);
  ~ImageSymbols();

  // `addresses` sorted ascending; link addresses. Where a function without a symbol begins (options.places; kFunctionBegin), the unwind table
  // says, or the code. Ends soon after `stop` is requested: the answer is cut short then.
  NamedAddresses name(std::span<const LinkAddr> addresses, NameDepth depth, DemangleCache& demangled, const std::stop_token& stop = {}) const;
  // Cuts sorted addresses into parts of about `size`, such that no compilation unit is decoded for two of them. Each part holds
  // indices, ascending; together they are all.
  std::vector<std::vector<uint32_t>> partition(std::span<const LinkAddr> addresses, size_t size) const;
  std::optional<Symbol> find_symbol(LinkAddr address) const;
  // The functions that the patterns name, in all symbol tables; lines of source files in DWARF. Reads the tables again: the index keeps one name an address.
  FunctionSearch find_functions(std::span<const std::string> patterns, size_t limit, const std::stop_token& stop = {}) const;
  // What debug information has about the parameters of functions that begin there, in that order.
  std::vector<FunctionParameters> find_parameters(std::span<const LinkAddr> functions, const std::stop_token& stop = {}) const;
  bool has_symbols() const;
  bool has_dwarf() const;

  // For those who keep it, and not while name() runs: gives DWARF back if all together takes more than `max_bytes`, and pages of mapped files,
  // which are not counted, in any case. Returns what is left.
  size_t shrink(size_t max_bytes);

 private:
  ImageSymbols();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cicada::symbolize

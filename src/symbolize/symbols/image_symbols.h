// SPDX-License-Identifier: Apache-2.0
// Everything one image can say about its addresses: symbol tables (its own, MiniDebugInfo's, its debug file's), PLT stubs, and
// inlined calls and lines from DWARF, wherever that is.
//
//   auto symbols = ImageSymbols::open(std::move(elf), path, options);
//   symbols->resolve(sorted_addresses, [&](size_t i, std::span<const SourceFrame> frames) { … });
//
// Owns the files. Opening reads symbol tables only; DWARF is looked at by resolve(), one compilation unit at a time, and
// nothing of it is kept: memory does not grow with the debug information.
// Threads: resolve() from any number at once, each with its own addresses.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "symbolize/files/file_root.h"
#include "symbolize/symbols/symbol_index.h"
#include "symbolize/symbolizer.h"

namespace cicada::symbolize {

class DebuginfodClient;

// One source position. Views are valid during the callback only.
struct SourceFrame {
  std::string_view linkage_name;  // empty: unknown
  std::string_view file;          // empty: unknown
  uint32_t line = 0;              // 0: unknown
  bool inlined = false;
  profile::NameSource source = profile::NameSource::kNone;
};

// Called once per address, with frames innermost first; none if nothing is known.
using FrameCallback = std::function<void(size_t index, std::span<const SourceFrame> frames)>;

class ImageSymbols {
 public:
  // `path` is where the image was seen; debug files are looked for beside it and in options.debug_dirs. A bad debug file costs
  // one diagnostic and is left out.
  // `debuginfod`: asked last; may be null. `root`: what `path` and the debug directories are relative to.
  static std::unique_ptr<ImageSymbols> open(elf::ElfFile elf, const std::string& path, const SymbolizeOptions& options,
                                            DebuginfodClient* debuginfod = nullptr, const FileRoot& root = {});
  ~ImageSymbols();

  // `addresses` sorted ascending; link addresses.
  void resolve(std::span<const LinkAddr> addresses, const FrameCallback& callback) const;
  // Cuts sorted addresses into parts of about `size`, such that no compilation unit is decoded for two of them. Each part holds
  // indices, ascending; together they are all.
  std::vector<std::vector<uint32_t>> partition(std::span<const LinkAddr> addresses, size_t size) const;
  std::optional<Symbol> find_symbol(LinkAddr address) const;
  // Where the function begins that contains an address without a name, by the unwind table. Read at the first question.
  std::optional<LinkAddr> find_function_begin(LinkAddr address) const;
  bool has_symbols() const;
  bool has_dwarf() const;

  // For those who keep it: what it takes, pages of mapped files apart, at most the largest size_t; and away with those pages. Not while
  // resolve() runs.
  size_t memory_bytes() const;
  void drop_pages() const;

 private:
  ImageSymbols();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cicada::symbolize

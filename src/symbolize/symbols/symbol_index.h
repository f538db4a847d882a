// SPDX-License-Identifier: Apache-2.0
// Address -> symbol for one image: disjoint, sorted ranges over the names of its symbol tables.
//
//   table:   [ outer            ]          index:   [outer][inner][outer]
//                   [inner]      label:                                  [label..)
//
// Rules, in this order, each tested:
//  - only symbols in executable sections (or segments, in files without sections); functions, IFUNCs and untyped labels;
//  - of several at one address the largest wins, then function over label, global over weak over local, the fewest leading
//    underscores, the shortest, the alphabetically first: one deterministic choice;
//  - a symbol ends at its size. What lies behind it is nobody's;
//  - a symbol of size zero (assembly) fills the gap up to the next symbol or the end of its section, in a full table. In
//    .dynsym, where most neighbours are missing, it names its own first byte only (and its section, if it begins it);
//  - the innermost of overlapping symbols wins.
// Names borrow the bytes of the tables they came from. Immutable once built; any thread. 24 bytes a range.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "elf/elf_file.h"
#include "profile/profile.h"

namespace cicada::symbolize {

struct Symbol {
  Range<LinkAddr> code;   // the part of the symbol around the address that was looked up
  LinkAddr begin;         // where the symbol itself begins
  std::string_view name;  // as in the table, version stripped
  profile::NameSource source = profile::NameSource::kNone;
};

class SymbolIndex {
 public:
  std::optional<Symbol> find(LinkAddr address) const;
  size_t size() const { return ranges_.size(); }
  bool empty() const { return ranges_.empty(); }
  size_t memory_bytes() const { return ranges_.capacity() * sizeof(Piece) + entries_.capacity() * sizeof(Entry); }

 private:
  friend class SymbolIndexBuilder;
  struct Entry {
    uint64_t begin = 0;
    std::string_view name;
    profile::NameSource source{};
  };
  struct Piece {
    uint64_t begin = 0, end = 0;
    uint32_t entry = 0;
  };
  std::vector<Piece> ranges_;
  std::vector<Entry> entries_;
};

class SymbolIndexBuilder {
 public:
  enum class Kind : uint8_t { kFunction, kIndirect, kLabel };  // STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE
  // A symbol as its table has it, before one is chosen for each address.
  struct Candidate {
    uint64_t begin = 0, size = 0, limit = 0;  // limit: end of the section or segment around it
    std::string_view name;                    // version stripped
    profile::NameSource source{};
    uint8_t rank = 0;  // smaller is better
    Kind kind = Kind::kFunction;
  };
  // The choice between symbols of one address (rules above).
  static bool better(const Candidate& a, const Candidate& b);

  // A section-header table's symbols: .symtab or .dynsym of `elf`. Bytes that make no sense are skipped.
  void append_section(const elf::ElfFile& elf, std::string_view section, profile::NameSource source);
  // The run-time symbol table through PT_DYNAMIC, for files whose section headers were removed.
  void append_dynamic(const elf::ElfFile& elf);
  // The functions of a Go program, which names them for its own stacks also where its symbols were removed.
  void append_go(const elf::ElfFile& elf);
  // One range from elsewhere (a PLT stub). `name` must outlive the index.
  void append(Range<LinkAddr> code, std::string_view name, profile::NameSource source);
  // All that was appended, in no order, until build().
  const std::vector<Candidate>& candidates() const { return candidates_; }
  SymbolIndex build();

 private:
  void append_table(const elf::ElfFile& elf, Bytes symbols, Bytes strings, profile::NameSource source);
  void keep_best();
  std::vector<Candidate> candidates_;
};

}  // namespace cicada::symbolize

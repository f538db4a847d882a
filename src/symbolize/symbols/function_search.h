// SPDX-License-Identifier: Apache-2.0
// Which functions of an image somebody means, and where in the file they begin: what a probe needs (uprobes are set at file offsets).
//
//   pattern ──▶ symbols of all tables ──▶ one function an address ──▶ offset by the executable PT_LOAD around it
//
// The image is a stranger's: work and answer have bounds.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "elf/elf_file.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/symbols/function_code.h"
#include "symbolize/symbols/symbol_index.h"

namespace cicada::symbolize {

struct FoundFunction {
  uint32_t pattern = 0;  // its index
  LinkAddr begin;
  FunctionCode code;               // its size 0: not known
  uint64_t within = 0;             // of a line: where its code is, in bytes behind the function's begin
  bool indirect = false;           // IFUNC: the symbol is the resolver; what is called is decided when the program starts
  bool changed_arguments = false;  // a compiler's clone (.isra, .constprop): its arguments are not the source's
  std::string name;                // for people: with parameters where it is mangled, else the symbol
};

struct FunctionSearch {
  std::vector<FoundFunction> functions;  // by pattern, then address; one a pattern and address, by its best name
  uint64_t matches = 0;                  // all; more than `functions` where there were more than the limit
  bool is_go = false;                    // a Go program
  bool has_symbols = false;
  bool cut_short = false;                // not all symbols were looked at: the budget was used up, or the question taken back
  std::vector<std::string> near;         // by pattern: names that may have been meant, "a, b, c"; "" if it was found, or nothing is near
};

inline constexpr size_t kMaxPatterns = 1024, kMaxPatternBytes = 16 << 10, kMaxFunctions = 100'000;  // of one question

// A pattern is a function's name: the linkage name; or demangled, with its parameters, without them, or without template arguments, too
// (names/demangle.h); or a regular expression between slashes. Clones of a function have its name; their cold and partial pieces (.cold, .part.0) only their own. Where it has no
// parameters, `*` stands for any letters, `?` for one. Of two symbols at one address the one that is exactly meant is shown, else an IFUNC, else the better one.
// Labels (STT_NOTYPE) are found by their exact name only. What is in no executable PT_LOAD is left out.
FunctionSearch search_functions(const elf::ElfFile& image, std::span<const SymbolIndexBuilder::Candidate> symbols,
                                std::span<const std::string> patterns, size_t limit, const std::stop_token& stop = {});

// FILE:LINE as a pattern: not a name, but a line of a source file. Nothing: it is none.
struct SourceLine {
  std::string file;  // a path, or the end of one
  uint32_t line = 0;
};
std::optional<SourceLine> parse_source_line(std::string_view pattern);

// Adds what `pattern`, the index of a line, has: where its code begins in each function, once a function. `begin` is that place; `near` the lines around it, where
// it has none.
void add_line(const elf::ElfFile& image, const SymbolIndex& symbols, uint32_t pattern, const SourceLine& line, CodeOfLine code, size_t limit, FunctionSearch& search);

}  // namespace cicada::symbolize

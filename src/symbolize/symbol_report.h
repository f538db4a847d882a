// SPDX-License-Identifier: Apache-2.0
// `cicada debug symbols FILE [ADDR…]`: what `addr2line -ifC -e FILE` prints, from the same input, faster.
//
//   $ cicada debug symbols ./prog 0x1149        function, then file:line, one pair per inlined call, innermost first;
//   square(int)                                 "??" and "??:0" where nothing is known, "?" where only the line is not
//   /src/a.c:3
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/address.h"
#include "symbolize/symbolize_options.h"

namespace cicada::symbolize {

struct SymbolReportOptions {
  SymbolizeOptions symbols;
  bool show_addresses = false;  // addr2line -a: each answer begins with its address
  bool basenames = false;       // addr2line -s: files without their directories
  bool pretty = false;          // addr2line -p: "square(int) at /src/a.c:3", callers on lines that begin with " (inlined by) "
};

using TextWriter = std::function<Result<void>(std::string_view)>;

// The first word, hexadecimal with or without 0x; nothing for other text.
std::optional<LinkAddr> find_address(std::string_view text);

// Answers `addresses`; if there are none, lines from `input` until it ends, in blocks of what has arrived (so that a program
// that asks and waits gets its answer). Text that is no address is answered as unknown.
// Fails: the file cannot be opened or is not an ELF image, `write` failed.
Result<void> report_symbols(const std::string& path, std::span<const std::string> addresses, int input, const SymbolReportOptions& options,
                            const TextWriter& write);

}  // namespace cicada::symbolize

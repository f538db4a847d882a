// SPDX-License-Identifier: Apache-2.0
// What `cicada debug rows [--stats|--unsupported] FILE` prints about one image.
#pragma once
#include <string>

#include "abi/unwind_table.h"
#include "base/result.h"

namespace cicada::unwind {

enum class RowReport : uint8_t {
  kRows,         // every row: address, rule
  kStats,        // counts, coverage, bytes per row beside the layouts others use, where the bytes go
  kUnsupported,  // what the kernel walk cannot follow, by class, with its rows
};

// Text with a newline at its end. Fails: like ElfFile::open.
Result<std::string> report_rows(const std::string& path, RowReport report);

// One rule for people: "cfa=rsp+16 rbx=[cfa-16]".
std::string to_text(const unwind_rule& rule);

}  // namespace cicada::unwind

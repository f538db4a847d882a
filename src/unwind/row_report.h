// SPDX-License-Identifier: Apache-2.0
// What `cicada debug rows [--stats|--unsupported|--pieces] FILE` prints about one image.
#pragma once
#include <array>
#include <string>

#include "elf/elf_file.h"
#include "unwind/rows/unwind_rows.h"
#include "unwind/rows/unsupported_reason.h"

namespace cicada::unwind {

enum class RowReport : uint8_t {
  kRows,         // every row: address, rule
  kStats,        // counts, coverage, bytes per row beside the layouts others use, where the bytes go
  kUnsupported,  // what the kernel walk cannot follow, by class, with its rows
  kPieces,       // code without CFI, read in pieces as stacks ask for it: how long that takes, and whether the rules are those of reading it at once
};

// How much of the code that FDEs cover has a rule that the kernel's walk cannot follow.
struct UnsupportedCode {
  struct Class {
    uint64_t rows = 0, bytes = 0;
  };
  Class all;
  std::array<Class, static_cast<size_t>(UnsupportedReason::kCount)> by_reason{};
  uint64_t simple_bytes = 0;  // the other extreme: rules that need stack pointer, frame pointer and the PLT form only
};
UnsupportedCode count_unsupported(const elf::ElfFile& elf, const UnwindRows& table);

// Text with a newline at its end. Fails: like ElfFile::open.
Result<std::string> report_rows(const std::string& path, RowReport report);

// One rule for people: "cfa=rsp+16 rbx=[cfa-16]".
std::string to_text(const unwind_rule& rule);

}  // namespace cicada::unwind

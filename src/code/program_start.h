// SPDX-License-Identifier: Apache-2.0
// Two functions of a stripped program that its code tells the names of: where it starts, and what its start code hands to __libc_start_main.
#pragma once
#include <optional>

#include "elf/elf_file.h"

namespace cicada::code {

struct ProgramStart {
  LinkAddr start;                // `_start`
  std::optional<LinkAddr> main;  // `main`; nothing: the start code is not glibc's or musl's
};

// Nothing: the image is neither a program nor glibc's loader. (Libraries may have an entry, too, which means nothing.)
std::optional<ProgramStart> find_program_start(const elf::ElfFile& elf);

}  // namespace cicada::code

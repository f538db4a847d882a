// SPDX-License-Identifier: Apache-2.0
// MiniDebugInfo: a whole ELF file with only a .symtab, xz-compressed in .gnu_debugdata. Fedora and its relatives ship it in
// every stripped binary. Source: gdb manual, "MiniDebugInfo".
// Bounds: kMaxMiniDebugInfoBytes of output and 64 times the input, 64 MiB for the decoder.
#pragma once
#include <optional>

#include "elf/elf_file.h"

namespace cicada::symbolize {

constexpr uint64_t kMaxMiniDebugInfoBytes = 256 << 20;

// Nothing if the file has no .gnu_debugdata. Fails: kCorrupt, kLimit.
Result<std::optional<elf::ElfFile>> load_mini_debug_info(const elf::ElfFile& elf);

}  // namespace cicada::symbolize

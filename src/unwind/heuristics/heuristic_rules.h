// SPDX-License-Identifier: Apache-2.0
// Rows for code without CFI whose bytes or section say what it is:
//  * a signal trampoline, `mov $15,%eax; syscall`: what a handler returns to in musl (no CFI at all) and in Go (CFI that
//    calls it an ordinary function). The byte before it belongs to the row: a handler's return address is looked up at − 1.
//  * the entry point, up to its first call: nothing called it;
//  * what calls exit with the result of the call before (musl's __libc_start_main): nothing of interest is above it;
//  * lazy-binding stubs of linkers that write no CFI for them (lld);
//  * the C runtime's start files (start_code.h) and Go (go_code.h);
//  * code of images that have CFI for less than half of theirs (compiled_code.h);
// and CFA_FRAME_POINTER for all other code without CFI amid code that has some (64 bytes and more, hand-written assembly,
// V8's built-ins).
//
// Only where it can be: gaps of at least nine bytes between FDEs that are not alignment padding, all code of Go images. At most
// 32 MiB of code are searched per image (20 ms).
#pragma once
#include "elf/elf_file.h"
#include "unwind/rows/executable_ranges.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Shorter gaps hold no trampoline.
inline constexpr uint64_t kSmallestPatternGap = 9;

// `gaps`: what no FDE covers and is not padding, in ascending order.
void add_code_patterns(const elf::ElfFile& elf, const ExecutableRanges& code, const std::vector<Range<LinkAddr>>& gaps,
                       RowTable& table);

}  // namespace cicada::unwind

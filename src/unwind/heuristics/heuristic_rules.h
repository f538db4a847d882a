// SPDX-License-Identifier: Apache-2.0
// heuristics/ has rules for code without call-frame information, found by other means:
//  * a signal trampoline, `mov $15,%eax; syscall`: what a handler returns to in musl (no CFI at all) and in Go (CFI that
//    calls it an ordinary function). The byte before it belongs to the row: a handler's return address is looked up at − 1.
//  * the entry point, up to its first call: nothing called it;
//  * what calls exit with the result of the call before (musl's __libc_start_main): nothing of interest is above it;
//  * lazy-binding stubs of linkers that write no CFI for them (lld), and the C runtime's start files;
//  * Go (go_code.h);
//  * code of images that were compiled without CFI, and assembly in the gaps of others (code/image_functions.h, by code/stack_depth.h);
//  * assembly whose CFI cannot be right, the same way: it says that the stack pointer never moves, and that is rounded down (OpenSSL's bn_gather5);
// and CFA_FRAME_POINTER for all other code without CFI amid code that has some (64 bytes and more, some of V8's built-ins). What code looks like is the architecture's (arch.h).
//
// Only where it can be: gaps of at least nine bytes between FDEs that are not alignment padding, all code of Go images. At most
// 32 MiB of code are searched per image: 20 ms for patterns, two seconds for what is read instruction by instruction, if it is not left
// unread (rows/code_pieces.h).
#pragma once
#include "code/executable_ranges.h"
#include "elf/elf_file.h"
#include "unwind/rows/code_pieces.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// `gaps`: what no FDE covers and is not padding, in ascending order. `unmoved`: functions whose stack pointer never moves, as their CFI says. `max_read_bytes`: of more than that nothing is read, instruction by instruction.
void add_heuristic_rules(const elf::ElfFile& elf, const code::ExecutableRanges& code, const std::vector<Range<LinkAddr>>& gaps,
                         const std::vector<Range<LinkAddr>>& unmoved, uint64_t max_read_bytes, RowTable& table);

// Of code that was left unread: ascending, disjoint, in the question's code.
std::vector<CodeRule> read_code(const elf::ElfFile& elf, const CodeQuestion& question);

}  // namespace cicada::unwind

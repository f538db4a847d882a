// SPDX-License-Identifier: Apache-2.0
// Rows for an image that was compiled without CFI as a whole (musl's libc on Debian, static programs with it, -fno-asynchronous-unwind-tables):
// its functions by their symbols, by the calls to them and by who takes their address; their stacks by stack_depth.h. And for hand-written assembly without CFI in
// images that have CFI: codecs, linear algebra.
#pragma once
#include <vector>

#include "base/address.h"
#include "elf/elf_file.h"
#include "unwind/rows/code_rule.h"
#include "unwind/heuristics/stack_depth.h"

namespace cicada::unwind {

// What `elf` says of its functions that begin in `code` (ascending, disjoint). Offsets are of `base`.
StackDepths read_functions(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base);

// Ascending, disjoint, offsets from `base`, within `code`.
std::vector<CodeRule> find_compiled_code_rules(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base);

// The same for `code` that lies between what CFI covers. Only what is in it is looked at, so that it costs nothing elsewhere.
std::vector<CodeRule> find_assembly_rules(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base);

}  // namespace cicada::unwind

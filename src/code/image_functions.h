// SPDX-License-Identifier: Apache-2.0
// The functions of an image without CFI, or of the parts of one that have none: by symbols, by the calls to them, by who takes their address, and where one ends and
// another begins. What their stacks are like, and where they begin, is StackDepths' to find.
#pragma once
#include <vector>

#include "base/address.h"
#include "code/stack_depth.h"
#include "elf/elf_file.h"

namespace cicada::code {

// Whether compilers have left out CFI of an image, of which some covers `covered` of `total` bytes of code. Otherwise what it does not cover is hand-written: codecs'
// libraries have more assembly than C; programs do not, and a static one has a libc in it, which may be without (musl's on Debian).
bool is_compiled_without_cfi(const elf::ElfFile& elf, uint64_t covered, uint64_t total);

// Of such an image (or one compiled with -fno-asynchronous-unwind-tables): what `elf` says of its functions that begin in `code` (ascending, disjoint). Offsets are of
// `base`.
StackDepths read_functions(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base);

// Hand-written assembly in an image that has CFI (codecs, linear algebra): `code` is what lies between what CFI covers. Only what is in it is looked at, so that it
// costs nothing elsewhere.
StackDepths read_assembly(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& code, LinkAddr base);

// The one or the other, of some of `all` such code.
StackDepths read_some(const elf::ElfFile& elf, bool compiled, const std::vector<Range<LinkAddr>>& code, const std::vector<Range<LinkAddr>>& all, LinkAddr base);

// Those of `gaps` that may hold such code: without the padding at their begin, and 16 bytes or more.
std::vector<Range<LinkAddr>> without_padding(const elf::ElfFile& elf, std::vector<Range<LinkAddr>> gaps);

}  // namespace cicada::code

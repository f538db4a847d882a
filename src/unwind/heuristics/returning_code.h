// SPDX-License-Identifier: Apache-2.0
// Code of which a return shows that its call-frame information is wrong: there the CFA is rsp + 8, whatever CFI says. What the instructions before it do to the stack
// tells how long CFI has been wrong.
//
//   lea 0x48(%rsp),%rsp    CFA = rsp + 80
//   repz ret               CFA = rsp + 168, says OpenSSL's CFI of X25519
//
// Where CFI has one row for all of a function (LuaJIT's interpreter), there may be others in it: their begins and ends are found, too.
#pragma once
#include <vector>

#include "elf/elf_file.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Reads `functions` (ascending; what overlaps is left out), 256 KiB of them at most; overwrites what is shown to be wrong in `table`.
void mark_returning_code(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& functions, RowTable& table);

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// The end of a function with a realigned stack, where CFI says what is not so any more. GCC writes:
//
//   pop %r10            CFA = r10; rbx at *(rbp - 0x28), …, rbp at *rbp
//   pop %r12 … pop %rbp
//   lea -8(%r10),%rsp   these registers have the caller's values, rbp is their base no more
//   ret                 CFA = rsp + 8; and still rbp at *rbp
#pragma once
#include "elf/elf_file.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Behind `pop %rbp`, or leave, in such rows, to where the code goes elsewhere: what was relative to rbp keeps its value.
void mark_popped_registers(const elf::ElfFile& elf, RowTable& table);

}  // namespace cicada::unwind

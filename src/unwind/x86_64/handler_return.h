// SPDX-License-Identifier: Apache-2.0
// The end of a function that returns to an exception's handler, not to its caller: __builtin_eh_return, with which libgcc's
// _Unwind_RaiseException, _Unwind_Resume, _Unwind_Resume_or_Rethrow and _Unwind_ForcedUnwind let go of the stack.
//
//   mov %rsi,8(%rbp,%rdx)    the handler's address, right below the stack pointer it will have
//   mov -56(%rbp),%rax …     CFI: CFA = rbp + 16
//   mov %rcx,%rsp            CFI: CFA = rcx + 8
//   pop %rcx; jmp *%rcx      (with -fcf-protection), or: ret
//
// Right after the store a frame that is about to go returns to a landing pad. A landing pad is no return address: the call before it is
// often in another row, or function. No CFI can say so. The next frame is the handler's, with the registers it will have there; what is left
// of the instructions says which those are. Four samples in ten thousand of a program that does nothing but throw (2026-11-21).
#pragma once
#include "dwarf/frame_rules.h"
#include "elf/elf_file.h"
#include "unwind/rows/row_table.h"

namespace cicada::unwind {

// Makes the rows from behind the store to the end of the jump unsupported, so that the kernel's walk asks for what follows. Only a row
// with CFA = rcx + 8 is looked at; it stays what it is without that store less than 64 bytes before.
void mark_handler_returns(const elf::ElfFile& elf, RowTable& table);

inline bool is_handler_return(const unwind_rule& rule) {
  return rule.cfa_kind == CFA_UNSUPPORTED && rule.cfa_reg == static_cast<uint8_t>(UnsupportedReason::kHandlerReturn);
}

// Does what `code` does up to its jump; [ARCH_RETURN] is where that leads. All general-purpose registers have to be known.
// Fails: kMalformed (other code), kUnreadable (a word that is not on the copied stack).
dwarf::FrameStep follow_handler_return(Bytes code, const dwarf::Memory& stack, dwarf::Registers& registers);

}  // namespace cicada::unwind

// SPDX-License-Identifier: Apache-2.0
// Where a language machine takes its stack back from code that it has generated (LuaJIT's vm_exit_handler). Generated code moves the stack pointer as it likes, so nothing
// is known of it here; but the machine keeps what it was in the state of the running thread, to which a register leads:
//
//   …                          its registers are pushed
//   mov -0xe10(%r14),%rbp      the thread that runs
//   …; call …; mov 0x50(%rbp),%rcx
//   and $-4,%rcx               without flags
//   …; mov %rcx,%rsp           CFA = rsp + 80, as CFI says: so before, CFA = *(*(r14 - 0xe10) + 0x50) + 80
#pragma once
#include <optional>

#include "base/byte_cursor.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// Of a function whose CFI is `rule` all over: offsets from its begin, which is that of `code`.
std::optional<CodeRule> find_machine_stack(Bytes code, const unwind_rule& rule);

}  // namespace cicada::unwind

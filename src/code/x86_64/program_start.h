// SPDX-License-Identifier: Apache-2.0
// The code at a program's entry point, as C libraries write it. Source: psABI of x86-64, 3.4.1 (the outermost frame has rbp 0), and the start files of glibc and musl:
//
//   glibc   xor %ebp,%ebp … lea main(%rip),%rdi or mov $main,%rdi … call __libc_start_main; hlt
//   musl    xor %rbp,%rbp; mov %rsp,%rdi … call _start_c, which does the same for __libc_start_main
//   ld.so   mov %rsp,%rdi; call _dl_start
#pragma once
#include <cstdint>
#include <optional>

#include "base/byte_cursor.h"

namespace cicada::code {

// Few functions do.
bool begins_program(Bytes entry);

// The first call, or jump elsewhere, that `code` gets to.
struct FirstCall {
  std::optional<int64_t> target;           // offset from `code`; nothing: through memory
  // The first argument, where it is one of these:
  std::optional<int64_t> argument_offset;  // an address, as an offset from `code`
  std::optional<uint64_t> argument_number;
  bool passes_stack = false;               // the stack pointer
  bool halts_behind = false;               // hlt follows: it does not return
};
// Nothing: it is not one of the first instructions.
std::optional<FirstCall> find_first_call(Bytes code);

}  // namespace cicada::code

// SPDX-License-Identifier: Apache-2.0
// Arguments of USDT probes as <sys/sdt.h> writes them, operands of the assembler: "-4@%edi 8@-16(%rbp) 4@$5 8@(%rax,%rbx,8)". The number before @ is the
// size in bytes, with a minus if the argument has a sign. Source: sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
#pragma once
#include <string_view>
#include <vector>

#include "abi/event_fields.h"

namespace cicada::elf {

inline constexpr size_t kMaxUsdtArguments = 12;  // <sys/sdt.h> has macros for so many

// One an argument, of the registers in struct pt_regs. `bytes` is 0 where the operand cannot be read: floating point, a symbol, or unknown text.
std::vector<event_field> parse_usdt_operands(std::string_view text);
// Whether it may be one of these: what a parser answered is not believed.
bool is_usdt_operand(const event_field& field);

}  // namespace cicada::elf

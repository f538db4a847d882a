// SPDX-License-Identifier: Apache-2.0
// Where instructions begin, and which of them leave a function. Threads: any.
#pragma once
#include <cstdint>
#include <span>

#include "elf/elf_file.h"
#include "symbolize/symbols/function_code.h"

namespace cicada::parser {

// Whether one begins at `offset`, if one begins at 0 and nothing but instructions lies between.
bool begins_instruction(std::span<const uint8_t> code, uint64_t offset);

// Where a function returns. `file`: of its code nothing may be missing; else it counts as not understood.
// `image`: the same file, whose tables of addresses tell where some jumps go; null: that is not known.
// Exceptions, longjmp() and what a function calls are not its own: it is left by them without an instruction that is looked for here.
symbolize::FunctionReturns find_returns(std::span<const uint8_t> file, const symbolize::FunctionCode& function, const elf::ElfFile* image = nullptr);

}  // namespace cicada::parser

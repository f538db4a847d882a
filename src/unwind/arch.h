// SPDX-License-Identifier: Apache-2.0
// The architecture's room: instructions, what they do to the stack, and code known by its bytes. Another architecture is a second
// room with the same functions, chosen here.
//
//   instruction.h      bytes -> Instruction, and where control goes next
//   stack_state.h      StackState: where the stack pointer, the frame pointer and saved registers are, instruction by instruction
//   heuristic_rules.h    signal trampolines, entry points, lazy-binding stubs
//   start_code.h       the C runtime's start files
//   handler_return.h   functions that return to an exception's handler
#pragma once
#include "abi/arch.h"
#if defined(__x86_64__)
#include "unwind/x86_64/heuristic_rules.h"
#include "unwind/x86_64/handler_return.h"
#include "unwind/x86_64/instruction.h"
#include "unwind/x86_64/stack_state.h"
#include "unwind/x86_64/start_code.h"
#endif

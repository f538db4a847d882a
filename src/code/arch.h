// SPDX-License-Identifier: Apache-2.0
// The architecture's room: instructions, and what they do to the stack. Another architecture is a second room with the same functions, chosen here.
//
//   instruction.h     bytes -> Instruction, and where control goes next
//   stack_state.h     StackState: where the stack pointer, the frame pointer and saved registers are, instruction by instruction
//   program_start.h   the code at a program's entry point
#pragma once
#include "abi/arch.h"
#if defined(__x86_64__)
#include "code/x86_64/instruction.h"
#include "code/x86_64/stack_state.h"
#include "code/x86_64/program_start.h"
#endif

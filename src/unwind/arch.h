// SPDX-License-Identifier: Apache-2.0
// The architecture's room: code known by its bytes. Another architecture is a second room with the same functions, chosen here.
//
//   heuristic_rules.h    signal trampolines, entry points, lazy-binding stubs
//   start_code.h       the C runtime's start files
//   handler_return.h   functions that return to an exception's handler
//   popped_registers.h   the end of functions with a realigned stack
//   machine_stack.h    where a language machine has kept its stack pointer
#pragma once
#include "abi/arch.h"
#if defined(__x86_64__)
#include "unwind/x86_64/heuristic_rules.h"
#include "unwind/x86_64/handler_return.h"
#include "unwind/x86_64/machine_stack.h"
#include "unwind/x86_64/popped_registers.h"
#include "unwind/x86_64/start_code.h"
#endif

// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// One step of the walk: "registers + rule + memory reader -> caller's registers". Compiled into the BPF programs and into user
// space; there is no second implementation.
//
// The includer defines, before including this file:
//   static inline int unwind_read(void *reader, __u64 address, __u64 *value);   0, or nonzero when unreadable
#pragma once
#include "abi/base_types.h"
#include "abi/end_reason.h"
#include "abi/unwind_table.h"

enum { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8 };

struct unwind_regs {
  __u64 gpr[16];  // DWARF numbering
  __u64 ip;
  __u8 exact_ip;  // ip is an instruction about to run (leaf, above a signal frame), not a return address
  __u8 all_registers;  // caller-saved registers are valid too
  __u8 padding[6];
};

// The caller's registers into *regs. END_NONE: go on. Otherwise the reason why there is no caller.
static inline int unwind_step(void *reader, const struct unwind_rule *rule, struct unwind_regs *regs);
// The same for code with frame pointers and no table.
static inline int unwind_step_frame_pointer(void *reader, struct unwind_regs *regs);

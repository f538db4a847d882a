// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// One step of the walk: "registers + rule + memory reader -> caller's registers". Compiled into the BPF programs and into user
// space; there is no second implementation.
//
// The includer defines, before including this file:
//   static inline int unwind_read(void *reader, __u64 address, __u64 *value);   0, or nonzero when unreadable
//
// A step that fails leaves *regs half done: they are good for nothing then. Keep a copy where they are needed (rescue).
// The CFA need not grow: signal frames, alternate stacks and coroutines all go down. What bounds the walk is its depth.
#pragma once
#include "abi/base_types.h"
#include "abi/end_reason.h"
#include "abi/frame.h"
#include "abi/unwind_table.h"

enum { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8 };

struct unwind_regs {
  __u64 gpr[16];  // DWARF numbering
  __u64 ip;
  __u8 exact_ip;  // ip is an instruction about to run (leaf, above a signal frame), not a return address
  __u8 all_registers;  // caller-saved registers are valid too
  __u8 padding[6];
};

// rbx, rbp, rsp, r12–r15: what a callee has to hand back, hence all that is known above the first frame.
#define UNWIND_CALLEE_SAVED 0xf0c8u
// Five-level page tables end user space here; a kernel address or garbage lies above.
#define UNWIND_USER_END (1ull << 56)

// Where `link = ip - bias` is to be looked up: a return address belongs to the call before it.
ABI_INLINE __u64 unwind_lookup_address(const struct unwind_regs *regs) { return regs->ip - (regs->exact_ip ? 0 : 1); }

// Signal frame: the kernel left every register in the ucontext. Offsets: struct sigcontext in asm/sigcontext.h,
// 40 bytes into struct ucontext: r8 … r15 rdi rsi rbp rbx rdx rax rcx rsp rip.
ABI_INLINE int unwind_step_signal(void *reader, __u64 ucontext, struct unwind_regs *regs) {
  const __u64 order = 0x72013645fedcba98ull;  // DWARF numbers, first in the low nibble
  __u64 context = ucontext + 40;
  __u64 value;
  for (__u32 i = 0; i < 16; i++) {
    if (unwind_read(reader, context + 8 * i, &value)) return END_UNREADABLE;
    regs->gpr[(order >> (4 * i)) & 15] = value;
  }
  if (unwind_read(reader, context + 8 * 16, &value)) return END_UNREADABLE;
  if (value == 0 || value >= UNWIND_USER_END) return END_UNMAPPED_PC;  // jumped nowhere: not an outermost frame
  if (regs->gpr[REG_RSP] == 0) return END_UNREADABLE;
  regs->ip = value;
  regs->exact_ip = 1;
  regs->all_registers = 1;
  return END_NONE;
}

// Code with frame pointers and no table. A zero frame pointer is the outermost frame; one that points nowhere
// is code that uses rbp for something else.
ABI_INLINE int unwind_step_frame_pointer(void *reader, struct unwind_regs *regs) {
  __u64 frame = regs->gpr[REG_RBP];
  __u64 caller_frame, return_address;
  if (frame == 0) return END_ZERO_RA;
  if ((frame & 7) || frame >= UNWIND_USER_END) return END_BAD_FRAME_POINTER;
  if (unwind_read(reader, frame, &caller_frame) || unwind_read(reader, frame + 8, &return_address))
    return END_BAD_FRAME_POINTER;
  if (return_address == 0) return END_ZERO_RA;
  if (return_address >= UNWIND_USER_END || caller_frame == frame) return END_BAD_FRAME_POINTER;
  regs->gpr[REG_RBP] = caller_frame;
  regs->gpr[REG_RSP] = frame + 16;
  regs->ip = return_address;
  regs->exact_ip = 0;
  regs->all_registers = 0;
  return END_NONE;
}

// Generated code that keeps no frame pointer but says where its caller is: "add $8,%rsp; ret" at a return address, as in CPython's perf
// trampolines. The CFA is rsp + 16 then.
#define UNWIND_TRAMPOLINE_BYTES 5
ABI_INLINE int unwind_is_trampoline(__u64 code_at_return) { return (code_at_return & 0xffffffffffull) == 0xc308c48348ull; }
ABI_INLINE struct unwind_rule unwind_trampoline_rule(void) {
  struct unwind_rule rule = {};
  rule.cfa_kind = CFA_OFFSET;
  rule.cfa_reg = REG_RSP;
  rule.cfa_offset = 16;
  return rule;
}

// A 32-bit task: saved ebp and return address are one eight-byte word.
ABI_INLINE int unwind_step_frame_pointer_32(void *reader, struct unwind_regs *regs) {
  __u64 frame = regs->gpr[REG_RBP] & 0xffffffffull;
  __u64 word;
  if (frame == 0) return END_ZERO_RA;
  if ((frame & 3) || unwind_read(reader, frame, &word)) return END_BAD_FRAME_POINTER;
  if (word >> 32 == 0) return END_ZERO_RA;
  if ((word & 0xffffffffull) == frame) return END_BAD_FRAME_POINTER;
  regs->gpr[REG_RBP] = word & 0xffffffffull;
  regs->gpr[REG_RSP] = frame + 8;
  regs->ip = word >> 32;
  regs->exact_ip = 0;
  regs->all_registers = 0;
  return END_NONE;
}

// Whether the walk of a new task has ended where it should: clone gave it a stack, and clone's caller is not on it. Where that is not known
// (new_stack 0), no caller was found.
ABI_INLINE int unwind_has_no_caller(__u64 leaf, __u64 above, __u32 count, __u32 reason, __u32 new_stack) {
  if (count == 0 || frame_kind_of(leaf) != FRAME_IMAGE) return 0;
  if (new_stack) return count > 1 || reason == END_UNREADABLE || reason == END_UNMAPPED_PC || reason == END_ZERO_RA;
  if (count == 1) return reason == END_UNREADABLE || reason == END_UNMAPPED_PC;
  return count == 2 && frame_kind_of(above) == FRAME_UNKNOWN && reason == END_UNMAPPED_PC;
}

// The caller's registers into *regs. END_NONE: go on. Otherwise the reason why there is no caller.
ABI_INLINE int unwind_step(void *reader, const struct unwind_rule *rule, struct unwind_regs *regs) {
  __u32 kind = rule->cfa_kind;
  __u32 cfa_reg = rule->cfa_reg & 15;
  __u64 cfa = regs->gpr[cfa_reg] + (__u64)(__s64)rule->cfa_offset;
  if (kind == CFA_OFFSET) {
    if (!regs->all_registers && !(UNWIND_CALLEE_SAVED >> cfa_reg & 1)) return END_UNSUPPORTED_RULE;
  } else if (kind == CFA_DEREF) {
    if (!regs->all_registers && !(UNWIND_CALLEE_SAVED >> cfa_reg & 1)) return END_UNSUPPORTED_RULE;
    if (unwind_read(reader, cfa, &cfa)) return END_UNREADABLE;
    cfa += (__u64)(__s64)rule->cfa_addend;
  } else if (kind == CFA_PLT) {
    cfa = regs->gpr[REG_RSP] + 8 + ((regs->ip & 15) >= (__u64)(__s64)rule->cfa_offset ? 8 : 0);
  } else if (kind == CFA_SIGNAL) {
    return unwind_step_signal(reader, regs->gpr[REG_RSP] + (__u64)(__s64)rule->cfa_offset, regs);
  } else if (kind == CFA_OUTERMOST) {
    return END_OUTERMOST;
  } else if (kind == CFA_NONE) {
    return END_NO_RULE;
  } else if (kind == CFA_FRAME_POINTER) {
    if (cfa_reg == UNWIND_GENERATED_CODE && regs->gpr[REG_RBP] == 0) return END_BAD_FRAME_POINTER;
    return unwind_step_frame_pointer(reader, regs);
  } else {
    return END_UNSUPPORTED_RULE;
  }
  if (cfa < 16 || cfa >= UNWIND_USER_END) return END_UNREADABLE;

  __u64 return_address;
  __u64 value;
  __u32 via_base = rule->via_base;
  // DWARF numbers of enum unwind_save_base, then of enum unwind_saved.
  __u32 base_reg = (0xa736u >> (4 * (via_base >> 6))) & 15;
  if ((via_base & 63) && base_reg == 10 && !regs->all_registers) return END_UNSUPPORTED_RULE;
  __u64 base = rule->via_align ? (cfa - 8) & -(1ull << (rule->via_align & 63)) : regs->gpr[base_reg];
#define RESTORE(slot, reg)                                                                      \
  if (via_base >> (slot) & 1) {                                                                 \
    if (unwind_read(reader, base + (__u64)(8 * (__s64)rule->saved[slot]), &value)) return END_UNREADABLE; \
    regs->gpr[reg] = value;                                                                     \
  } else if (rule->saved[slot]) {                                                               \
    if (unwind_read(reader, cfa + (__u64)(8 * (__s64)rule->saved[slot]), &value)) return END_UNREADABLE; \
    regs->gpr[reg] = value;                                                                     \
  }
  RESTORE(SAVED_RBX, REG_RBX)
  RESTORE(SAVED_RBP, REG_RBP)
  RESTORE(SAVED_R12, 12)
  RESTORE(SAVED_R13, 13)
  RESTORE(SAVED_R14, 14)
  RESTORE(SAVED_R15, 15)
#undef RESTORE
  if (unwind_read(reader, cfa - 8, &return_address)) return END_UNREADABLE;
  if (return_address == 0) return END_ZERO_RA;
  if (return_address >= UNWIND_USER_END) return END_UNMAPPED_PC;
  regs->gpr[REG_RSP] = cfa;
  regs->ip = return_address;
  regs->exact_ip = 0;
  regs->all_registers = 0;
  return END_NONE;
}

// ---- The same for a walk that carries only rip, rsp and rbp ----
// Compilers base the CFA on rsp or rbp. Restoring the other callee-saved registers costs a branch each that depends on the function, and
// nearly no frame asks for them. So a walk begins lean; where a rule needs more it begins again with all registers, which the lean one
// left alone.
struct unwind_lean {
  __u64 ip, sp, bp;
};

#define UNWIND_NOT_PLAIN 0x100        // unwind_step_plain: *regs is untouched, ask unwind_step
#define UNWIND_NEEDS_REGISTERS 0x101  // the walk begins again with unwind_step in every frame

// Whether unwind_step reads registers a lean walk does not have.
ABI_INLINE int unwind_needs_registers(const struct unwind_rule *rule) {
  __u32 kind = rule->cfa_kind;
  if (kind == CFA_SIGNAL) return 1;
  if (kind != CFA_OFFSET && kind != CFA_DEREF && kind != CFA_PLT) return 0;
  if (kind != CFA_PLT && rule->cfa_reg != REG_RSP && rule->cfa_reg != REG_RBP) return 1;
  return (rule->via_base & 63) && rule->via_base >> 6 != SAVE_BASE_RBP && rule->via_base >> 6 != SAVE_BASE_RSP;
}

// CFA = rsp or rbp + offset, registers at the CFA: what compilers write. Agrees with unwind_step in rip, rsp, rbp and the reason, except
// that it does not read what else was saved, so it does not end where only that is unreadable.
ABI_INLINE int unwind_step_plain(void *reader, const struct unwind_rule *rule, struct unwind_lean *regs) {
  __u32 head = rule->cfa_kind | (__u32)rule->cfa_reg << 8 | (__u32)rule->via_base << 16;
  __u64 cfa = (__u64)(__s64)rule->cfa_offset;
  if (head == (CFA_OFFSET | REG_RSP << 8))
    cfa += regs->sp;
  else if (head == (CFA_OFFSET | REG_RBP << 8))
    cfa += regs->bp;
  else
    return UNWIND_NOT_PLAIN;
  if (cfa - 16 >= UNWIND_USER_END - 16) return END_UNREADABLE;
  __u64 return_address;
  if (unwind_read(reader, cfa - 8, &return_address)) return END_UNREADABLE;
  __s64 saved_bp = rule->saved[SAVED_RBP];
  if (saved_bp && unwind_read(reader, cfa + (__u64)(8 * saved_bp), &regs->bp)) return END_UNREADABLE;
  if (return_address - 1 >= UNWIND_USER_END - 1) return return_address ? END_UNMAPPED_PC : END_ZERO_RA;
  regs->ip = return_address;
  regs->sp = cfa;
  return END_NONE;
}

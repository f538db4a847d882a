// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// One step of the walk: "registers + rule + memory reader -> caller's registers". Compiled into the BPF programs and into user
// space; there is no second implementation.
//
// A step that fails leaves *regs half done: they are good for nothing then. Keep a copy where they are needed.
// The CFA need not grow: signal frames, alternate stacks and coroutines all go down. What bounds the walk is its depth.
#pragma once
#include "abi/arch.h"
#include "abi/end_reason.h"
#include "abi/frame.h"
#include "abi/unwind_table.h"

// Who includes this file defines this function: 0, or nonzero when unreadable.
ABI_INLINE int unwind_read(void *reader, __u64 address, __u64 *value);

struct unwind_regs {
  __u64 gpr[ARCH_REGISTERS];  // DWARF numbering
  __u64 ip;
  __u8 exact_ip;  // ip is an instruction about to run (leaf, above a signal frame), not a return address
  __u8 all_registers;  // 0, or 1: caller-saved registers are valid too
  __u8 padding[6];
};

// Where `link = ip - bias` is to be looked up: a return address belongs to the call before it.
ABI_INLINE __u64 unwind_lookup_address(const struct unwind_regs *regs) { return regs->ip - (regs->exact_ip ? 0 : 1); }

// Signal frame: the kernel left every register in the ucontext.
ABI_INLINE int unwind_step_signal(void *reader, __u64 ucontext, struct unwind_regs *regs) {
  __u64 value;
  for (__u32 i = 0; i < ARCH_REGISTERS; i++) {
    if (unwind_read(reader, ucontext + ARCH_UCONTEXT_REGISTERS + 8 * i, &value)) return END_UNREADABLE;
    regs->gpr[arch_ucontext_register(i)] = value;
  }
  if (unwind_read(reader, ucontext + ARCH_UCONTEXT_IP, &value)) return END_UNREADABLE;
  if (value == 0 || value >= ARCH_USER_END) return END_UNMAPPED_PC;  // jumped nowhere: not an outermost frame
  if (regs->gpr[ARCH_SP] == 0) return END_UNREADABLE;
  regs->ip = value;
  regs->exact_ip = 1;
  regs->all_registers = 1;
  return END_NONE;
}

// Code with frame pointers and no table. A zero frame pointer is the outermost frame; one that points nowhere
// is code that uses the register for something else.
ABI_INLINE int unwind_step_frame_pointer(void *reader, struct unwind_regs *regs) {
  __u64 frame = regs->gpr[ARCH_FP];
  __u64 caller_frame, return_address;
  if (frame == 0) return END_ZERO_RA;
  if ((frame & 7) || frame >= ARCH_USER_END) return END_BAD_FRAME_POINTER;
  if (unwind_read(reader, frame, &caller_frame) || unwind_read(reader, frame + 8, &return_address))
    return END_BAD_FRAME_POINTER;
  if (return_address == 0) return END_ZERO_RA;
  if (return_address >= ARCH_USER_END || caller_frame == frame) return END_BAD_FRAME_POINTER;
  regs->gpr[ARCH_FP] = caller_frame;
  regs->gpr[ARCH_SP] = frame + 16;
  regs->ip = return_address;
  regs->exact_ip = 0;
  regs->all_registers = 0;
  return END_NONE;
}

// JIT code whose return address arch_is_trampoline().
ABI_INLINE struct unwind_rule unwind_trampoline_rule(void) {
  struct unwind_rule rule = {};
  rule.cfa_kind = CFA_OFFSET;
  rule.cfa_reg = ARCH_SP;
  rule.cfa_offset = ARCH_TRAMPOLINE_CFA;
  return rule;
}

// A 32-bit task: saved frame pointer and return address are one eight-byte word.
ABI_INLINE int unwind_step_frame_pointer_32(void *reader, struct unwind_regs *regs) {
  __u64 frame = regs->gpr[ARCH_FP] & 0xffffffffull;
  __u64 word;
  if (frame == 0) return END_ZERO_RA;
  if ((frame & 3) || unwind_read(reader, frame, &word)) return END_BAD_FRAME_POINTER;
  if (word >> 32 == 0) return END_ZERO_RA;
  if ((word & 0xffffffffull) == frame) return END_BAD_FRAME_POINTER;
  regs->gpr[ARCH_FP] = word & 0xffffffffull;
  regs->gpr[ARCH_SP] = frame + 8;
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

// Of a copy of a stack, the page below the stack pointer may be missing. In an epilogue, what was saved there has been popped, so the register has the caller's
// value again; CFI goes on naming the slot.
ABI_INLINE int unwind_is_popped(const struct unwind_regs *regs, __u64 at) {
#if defined(__bpf__)
  (void)regs, (void)at;
  return 0;
#else
  return regs->exact_ip && regs->gpr[ARCH_SP] - at - 1 < ARCH_RED_ZONE;
#endif
}

// The caller's registers into *regs. END_NONE: go on. Otherwise the reason why there is no caller.
ABI_INLINE int unwind_step(void *reader, const struct unwind_rule *rule, struct unwind_regs *regs) {
  __u32 kind = rule->cfa_kind;
  __u32 cfa_reg = rule->cfa_reg & (ARCH_REGISTERS - 1);
  __u64 cfa = regs->gpr[cfa_reg] + (__u64)(__s64)rule->cfa_offset;
  if (kind == CFA_OFFSET) {
    // Of a caller, a register that functions may write to is doubted: its frame is above.
    if (!(ARCH_CALLEE_SAVED >> cfa_reg & 1) && (!regs->all_registers || (!regs->exact_ip && cfa - 8 < regs->gpr[ARCH_SP]))) return END_UNSUPPORTED_RULE;
  } else if (kind == CFA_DEREF || kind == CFA_DEREF_TWICE) {
    if (!regs->all_registers && !(ARCH_CALLEE_SAVED >> cfa_reg & 1)) return END_UNSUPPORTED_RULE;
    if (unwind_read(reader, cfa, &cfa)) return END_UNREADABLE;
    if (kind == CFA_DEREF) {
      cfa += (__u64)(__s64)rule->cfa_addend;
    } else {
      __u64 words = (__u16)rule->cfa_addend;
      if (unwind_read(reader, cfa + 8 * (words & 255), &cfa)) return END_UNREADABLE;
      cfa = (cfa & -8ull) + 8 * (words >> 8);
      if (cfa <= regs->gpr[ARCH_SP]) return END_UNREADABLE;  // the machine has been entered again since, from below
    }
  } else if (kind == CFA_PLT) {
    cfa = arch_plt_cfa(regs->gpr[ARCH_SP], regs->ip, rule->cfa_offset);
  } else if (kind == CFA_SIGNAL) {
    return unwind_step_signal(reader, regs->gpr[ARCH_SP] + (__u64)(__s64)rule->cfa_offset, regs);
  } else if (kind == CFA_OUTERMOST) {
    return END_OUTERMOST;
  } else if (kind == CFA_NONE) {
    return END_NO_RULE;
  } else if (kind == CFA_FRAME_POINTER) {
    if (cfa_reg != 0 && regs->gpr[ARCH_FP] == 0) return END_BAD_FRAME_POINTER;
    __u64 sender = 0;
    if (cfa_reg == UNWIND_INTERPRETED_JAVA && unwind_read(reader, regs->gpr[ARCH_FP] - 8, &sender)) return END_BAD_FRAME_POINTER;
    int reason = unwind_step_frame_pointer(reader, regs);
    if (sender - regs->gpr[ARCH_SP] < 1 << 20) regs->gpr[ARCH_SP] = sender;
    return reason;
  } else {
    return END_UNSUPPORTED_RULE;
  }
  if (cfa < 16 || cfa >= ARCH_USER_END) return END_UNREADABLE;

  __u64 return_address;
  __u64 value;
  __u32 via_base = rule->via_base;
  __u32 base_reg = arch_save_base(via_base >> 6);
  if ((via_base & 63) && !regs->all_registers && !(ARCH_CALLEE_SAVED >> base_reg & 1)) return END_UNSUPPORTED_RULE;
  __u32 align = rule->via_align & 63;
  __u64 base = align ? (cfa - 8) & -(1ull << align) : regs->gpr[base_reg];
#define RESTORE(slot, reg)                                                                      \
  if (via_base >> (slot) & 1 || rule->saved[slot]) {                                            \
    __u64 at = (via_base >> (slot) & 1 ? base : cfa) + (__u64)(8 * (__s64)rule->saved[slot]);   \
    if (!unwind_read(reader, at, &value))                                                       \
      regs->gpr[reg] = value;                                                                   \
    else if (!unwind_is_popped(regs, at))                                                       \
      return END_UNREADABLE;                                                                    \
  }
  ARCH_SAVED_REGISTERS(RESTORE)
#undef RESTORE
  if (unwind_read(reader, cfa - 8, &return_address)) return END_UNREADABLE;
  if (return_address == 0) return END_ZERO_RA;
  if (return_address >= ARCH_USER_END) return END_UNMAPPED_PC;
  regs->gpr[ARCH_SP] = cfa;
  regs->ip = return_address;
  regs->exact_ip = 0;
  regs->all_registers &= rule->via_align >> 7;  // UNWIND_KEEPS_REGISTERS
  return END_NONE;
}

// ---- The fast path: a walk that carries only instruction, stack and frame pointer ----
// Compilers base the CFA on the latter two. Restoring the other callee-saved registers costs a branch each that depends on the function,
// and nearly no frame asks for them. So a walk begins on the fast path; where a rule needs more it begins again with all registers, which
// the fast path left alone.
struct unwind_fast_regs {
  __u64 ip, sp, fp;
};

#define UNWIND_NOT_FAST 0x100         // unwind_step_fast: *regs is untouched, ask unwind_step
#define UNWIND_NEEDS_REGISTERS 0x101  // the walk begins again with unwind_step in every frame

// Whether unwind_step reads registers that the fast path does not have.
ABI_INLINE int unwind_needs_registers(const struct unwind_rule *rule) {
  __u32 kind = rule->cfa_kind;
  if (kind == CFA_SIGNAL) return 1;
  if (kind != CFA_OFFSET && kind != CFA_DEREF && kind != CFA_DEREF_TWICE && kind != CFA_PLT) return 0;
  if (kind != CFA_PLT && rule->cfa_reg != ARCH_SP && rule->cfa_reg != ARCH_FP) return 1;
  return (rule->via_base & 63) && rule->via_base >> 6 != SAVE_BASE_FP && rule->via_base >> 6 != SAVE_BASE_SP;
}

// CFA = stack or frame pointer + offset, registers at the CFA: what compilers write. Agrees with unwind_step in its registers and the
// reason, except that it does not read what else was saved, so it does not end where only that is unreadable.
ABI_INLINE int unwind_step_fast(void *reader, const struct unwind_rule *rule, struct unwind_fast_regs *regs) {
  __u32 head = rule->cfa_kind | (__u32)rule->cfa_reg << 8 | (__u32)rule->via_base << 16;
  __u64 cfa = (__u64)(__s64)rule->cfa_offset;
  if (head == (CFA_OFFSET | ARCH_SP << 8))
    cfa += regs->sp;
  else if (head == (CFA_OFFSET | ARCH_FP << 8))
    cfa += regs->fp;
  else
    return UNWIND_NOT_FAST;
  if (cfa - 16 >= ARCH_USER_END - 16) return END_UNREADABLE;
  __u64 return_address;
  if (unwind_read(reader, cfa - 8, &return_address)) return END_UNREADABLE;
  __s64 saved_fp = rule->saved[ARCH_SAVED_FP];
  if (saved_fp && unwind_read(reader, cfa + (__u64)(8 * saved_fp), &regs->fp)) return END_UNREADABLE;
  if (return_address - 1 >= ARCH_USER_END - 1) return return_address ? END_UNMAPPED_PC : END_ZERO_RA;
  regs->ip = return_address;
  regs->sp = cfa;
  return END_NONE;
}

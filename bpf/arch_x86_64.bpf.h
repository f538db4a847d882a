// SPDX-License-Identifier: GPL-2.0-only
// What of x86-64 only the kernel side knows (abi/arch/x86_64.h has the rest): the registers at an event and at the entry to the kernel, system calls, code segments.
#pragma once
#include "kernel_types.h"
#include "abi/arch.h"
#include "abi/records.h"

#include <bpf/bpf_core_read.h>

// arch/x86/include/asm/ptrace.h, as the kernel that runs has it. On its stack, at the entry to it.
struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
  unsigned long ip;
  union {
    __u16 cs;
  };
  unsigned long sp;
} __attribute__((preserve_access_index));

// The same for user space, whose layout is fixed: what perf_event, kprobe and uprobe programs are called with.
struct event_registers {
  __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#define SYSCALL_CLONE 56
#define SYSCALL_CLONE3 435
#define USER_CODE_SEGMENT_32 0x23

static __always_inline int is_user_mode(const struct event_registers *regs) { return (regs->cs & 3) != 0; }

// Of pages of this mm, ever.
static __always_inline __u64 arch_tlb_flushes(struct mm_struct *mm) {
  __u64 flushes = 0;
  bpf_probe_read_kernel(&flushes, sizeof(flushes), &mm->context.tlb_gen.counter);
  return flushes;
}

// Of the current task: where the thread's own data are, at fs, as the ABI has them: their first word is their address (6.2.1 of ELF Handling For Thread-Local Storage),
// and they lie above the stack. 0: there are none. Go keeps other things there.
static __always_inline __u64 arch_thread_data(const struct task_struct *task) {
  __u64 begin = 0, first_word = 0;
  bpf_probe_read_kernel(&begin, sizeof(begin), &task->thread.fsbase);
  bpf_probe_read_user(&first_word, sizeof(first_word), (const void *)begin);
  return first_word == begin ? begin : 0;
}

// In which the task entered the kernel. orig_ax is -1, or an error code that no call has, where an exception brought it there.
static __always_inline __u16 system_call_of(struct task_struct *task) {
  struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
  __u64 number = saved ? saved->orig_ax : NO_SYSTEM_CALL;
  return number < NO_SYSTEM_CALL ? (__u16)number : NO_SYSTEM_CALL;
}

static __always_inline int is_32_bit(struct task_struct *task) {
  struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
  return saved && saved->cs == USER_CODE_SEGMENT_32;
}

// SAMPLE_NEW_TASK and SAMPLE_NEW_STACK for a task that has not been back in user mode since clone made it: it has its parent's registers, but
// for the 0 of the system call and, if it was given one, the stack. clone says so in a register; clone3, in memory that may have changed.
static __always_inline __u32 new_task_flags(const struct pt_regs *saved) {
  if (saved->ax != 0) return 0;
  if (saved->orig_ax == SYSCALL_CLONE) return saved->si != 0 ? SAMPLE_NEW_TASK | SAMPLE_NEW_STACK : SAMPLE_NEW_TASK;
  return saved->orig_ax == SYSCALL_CLONE3 ? SAMPLE_NEW_TASK : 0;
}

// The user's registers at the event, or at the entry to the kernel, and what they say of the task (sample_flags). 0: there are none.
// `at_event` may be null.
static __always_inline int read_user_registers(const struct event_registers *at_event, struct task_struct *task, __u64 *gpr, __u64 *ip, __u32 *flags) {
#define READ(r)                                                                                           \
  gpr[X86_RAX] = (r)->ax, gpr[X86_RDX] = (r)->dx, gpr[X86_RCX] = (r)->cx, gpr[X86_RBX] = (r)->bx;         \
  gpr[X86_RSI] = (r)->si, gpr[X86_RDI] = (r)->di, gpr[X86_RBP] = (r)->bp, gpr[X86_RSP] = (r)->sp;         \
  gpr[X86_R8] = (r)->r8, gpr[X86_R9] = (r)->r9, gpr[X86_R10] = (r)->r10, gpr[X86_R11] = (r)->r11;         \
  gpr[X86_R12] = (r)->r12, gpr[X86_R13] = (r)->r13, gpr[X86_R14] = (r)->r14, gpr[X86_R15] = (r)->r15;     \
  *ip = (r)->ip
  __u64 code_segment;
  if (at_event && is_user_mode(at_event)) {
    READ(at_event);
    code_segment = at_event->cs & 0xffff;
  } else {
    struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(task);
    if (!saved) return 0;
    READ(saved);
    code_segment = saved->cs;
    *flags |= new_task_flags(saved);
    if (!(code_segment & 3)) return 0;
  }
#undef READ
  if (code_segment == USER_CODE_SEGMENT_32) *flags |= SAMPLE_32_BIT;
  return 1;
}

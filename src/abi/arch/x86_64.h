// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What the kernel side and user space agree on about x86-64. Included by abi/arch.h. Another architecture is a second file that defines the
// same arch_ and ARCH_ names; X86_ names are for files that are about x86-64 themselves.
// Registers have DWARF's numbers. Source: System V ABI, AMD64 supplement, figures 3.4 and 3.36.
#pragma once
#include "abi/base_types.h"

enum arch_register {
  X86_RAX, X86_RDX, X86_RCX, X86_RBX, X86_RSI, X86_RDI, X86_RBP, X86_RSP,
  X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
  ARCH_REGISTERS,                // general-purpose ones
  ARCH_RETURN = ARCH_REGISTERS,  // DWARF's column of the return address
  ARCH_SP = X86_RSP,
  ARCH_FP = X86_RBP,
};
#define ARCH_ALL_REGISTERS 0xffffu
// rbx, rbp, rsp, r12–r15: what a callee has to hand back, hence all that is known above the first frame.
#define ARCH_CALLEE_SAVED 0xf0c8u
// Five-level page tables end user space here; a kernel address or garbage lies above.
#define ARCH_USER_END (1ull << 56)
#define ARCH_RED_ZONE 128  // bytes below the stack pointer that a function may use as they are (ABI, 3.2.2)

#define ARCH_REGISTER_NAMES "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"

//   X(number in unwind_rule.saved, register)   of the registers that a rule restores, but for the stack pointer
#define ARCH_SAVED_REGISTERS(X) \
  X(SAVED_RBX, X86_RBX) X(SAVED_RBP, X86_RBP) X(SAVED_R12, X86_R12) X(SAVED_R13, X86_R13) X(SAVED_R14, X86_R14) X(SAVED_R15, X86_R15)
enum unwind_saved {
#define X(number, reg) number,
  ARCH_SAVED_REGISTERS(X)
#undef X
  SAVED_COUNT,
  ARCH_SAVED_FP = SAVED_RBP,
};

// Registers that others may be saved relative to: the upper two bits of unwind_rule.via_base.
enum unwind_save_base { SAVE_BASE_RBP, SAVE_BASE_RBX, SAVE_BASE_RSP, SAVE_BASE_R10, SAVE_BASE_FP = SAVE_BASE_RBP, SAVE_BASE_SP = SAVE_BASE_RSP };
ABI_INLINE __u32 arch_save_base(__u32 base) { return (X86_RBP | X86_RBX << 4 | X86_RSP << 8 | X86_R10 << 12) >> (4 * base) & 15; }

// A signal frame's struct ucontext holds every register, one word each from ARCH_UCONTEXT_REGISTERS bytes on (struct sigcontext in
// asm/sigcontext.h): r8 … r15 rdi rsi rbp rbx rdx rax rcx rsp, then rip.
#define ARCH_UCONTEXT_REGISTERS 40
#define ARCH_UCONTEXT_IP (ARCH_UCONTEXT_REGISTERS + 8 * ARCH_REGISTERS)
ABI_INLINE __u32 arch_ucontext_register(__u32 word) { return 0x72013645fedcba98ull >> (4 * word) & 15; }

// CFA in a stub of lazy binding: `bound` bytes into its sixteen the push is over.
ABI_INLINE __u64 arch_plt_cfa(__u64 sp, __u64 ip, __s32 bound) { return sp + 8 + ((ip & 15) >= (__u64)(__s64)bound ? 8 : 0); }

// JIT code that keeps no frame pointer but says where its caller is: "add $8,%rsp; ret" at a return address, as in CPython's perf
// trampolines. The CFA is rsp + ARCH_TRAMPOLINE_CFA then.
#define ARCH_TRAMPOLINE_BYTES 5
#define ARCH_TRAMPOLINE_CFA 16
ABI_INLINE int arch_is_trampoline(__u64 code_at_return) { return (code_at_return & 0xffffffffffull) == 0xc308c48348ull; }

// How much of its frame code of a Java virtual machine has made: from the bytes of code before and at the instruction. A return address is looked up in the last
// byte of its call, which is none of those that are looked for.
// A method begins with "push %rbp; sub $n,%rsp", some with "mov %rsp,%rbp" in between, others with "sub $n,%rsp; mov %rbp,m(%rsp)"; then there may be a barrier
// before the frame is called complete. It ends with "add $n,%rsp; pop %rbp", a look whether to stop ("cmp n(%r15),%rsp; ja", before 16 "mov n(%r15),%r10;
// test %eax,(%r10)", in 8 "test %eax,n(%rip)"), and "ret".
#define ARCH_JAVA_WHOLE 0     // all of it
#define ARCH_JAVA_RETURN 8    // the return address
#define ARCH_JAVA_POINTER 16  // that and the caller's frame pointer
#define ARCH_JAVA_ROOM 1      // all of it, but the caller's frame pointer is not in it yet
#define ARCH_JAVA_CODE_BEFORE 32
#define ARCH_JAVA_CODE_BYTES 16
// `length` bytes of the method are before it.
ABI_INLINE __u32 arch_java_pushed_in_prologue(const __u8 *code, __u64 length) {
  // Where three bytes of "sub $n,%rsp" end, a bit for each place. Without branches: the verifier would follow both ways of each of them (121,155 instructions).
  __u32 with_byte = 0, with_word = 0, opcode = 0;
  for (__u32 i = 0; i <= ARCH_JAVA_CODE_BEFORE - 2; i++) {
    opcode = (opcode << 8 | code[i]) & 0xffffff;
    with_byte |= ((opcode ^ 0x4883ec) - 1) >> 31 << i;
    with_word |= ((opcode ^ 0x4881ec) - 1) >> 31 << i;
  }
  with_word &= 0xffffffffu >> 4;  // all four bytes of n are before the instruction, too
  __u32 before = length >= ARCH_JAVA_CODE_BEFORE ? 0 : ARCH_JAVA_CODE_BEFORE - (__u32)length;  // the method
  __u32 found = length < 4 ? 0 : (with_byte | with_word) & 0xfffffffcu << (before & 31);
  __u32 first = found & -found;
  __u32 ends_here = (first & with_byte) >> (ARCH_JAVA_CODE_BEFORE - 2) | (first & with_word) >> (ARCH_JAVA_CODE_BEFORE - 5);
  const __u8 *at = code + ARCH_JAVA_CODE_BEFORE;
  int saves_next = at[0] == 0x48 && at[1] == 0x89 && (at[2] == 0x6c || at[2] == 0xac) && at[3] == 0x24;  // mov %rbp,m(%rsp)
  if (found) return saves_next && ends_here ? ARCH_JAVA_ROOM : ARCH_JAVA_WHOLE;
  if (length >= 1 && code[ARCH_JAVA_CODE_BEFORE - 1] == 0x55) return ARCH_JAVA_POINTER;
  if (length >= 4 && code[ARCH_JAVA_CODE_BEFORE - 4] == 0x55 && code[ARCH_JAVA_CODE_BEFORE - 3] == 0x48 && code[ARCH_JAVA_CODE_BEFORE - 2] == 0x8b &&
      code[ARCH_JAVA_CODE_BEFORE - 1] == 0xec)
    return ARCH_JAVA_POINTER;
  return ARCH_JAVA_RETURN;
}
ABI_INLINE __u32 arch_java_pushed_in_epilogue(const __u8 *code) {
  const __u8 *at = code + ARCH_JAVA_CODE_BEFORE;
  if (at[0] == 0x5d) return 16;                                                            // pop %rbp
  if (at[0] == 0xc3) return 8;                                                             // ret
  if (at[0] == 0x49 && at[1] == 0x3b && (at[2] == 0x67 || at[2] == 0xa7)) return 8;        // cmp n(%r15),%rsp
  if (at[0] == 0x0f && at[1] == 0x87 && ((at[-7] == 0x49 && at[-6] == 0x3b && at[-5] == 0xa7) || (at[-4] == 0x49 && at[-3] == 0x3b && at[-2] == 0x67)))
    return 8;                                                                              // ja, after that
  if (at[0] == 0x41 && at[1] == 0x85 && at[2] == 0x02 && at[3] == 0xc3) return 8;          // test %eax,(%r10); ret
  if (at[0] == 0x4d && at[1] == 0x8b && at[2] == 0x97 && at[7] == 0x41 && at[8] == 0x85 && at[9] == 0x02 && at[10] == 0xc3) return 8;
  if (at[0] == 0x85 && at[1] == 0x05 && at[6] == 0xc3) return 8;                           // test %eax,n(%rip); ret
  return 0;
}
// A stub, which may begin with "push %rbp; mov %rsp,%rbp".
ABI_INLINE __u32 arch_java_pushed_by_stub(const __u8 *code) {
  const __u8 *at = code + ARCH_JAVA_CODE_BEFORE;
  if (at[0] == 0x55 && at[1] == 0x48 && at[2] == 0x8b && at[3] == 0xec) return 8;
  if (at[0] == 0x48 && at[1] == 0x8b && at[2] == 0xec) return 16;
  if (at[0] == 0xc3 || (at[0] == 0xc5 && at[1] == 0xf8 && at[2] == 0x77 && at[3] == 0xc3)) return 8;
  return 0;
}

// Files.
#define ARCH_ELF_MACHINE 62  // EM_X86_64
#define ARCH_RELOCATION_GLOB_DAT 6
#define ARCH_RELOCATION_JUMP_SLOT 7
#define ARCH_RELOCATION_RELATIVE 8
#define ARCH_NAME "x86_64"   // uname -m, and in the names of directories of libraries (x86_64-linux-gnu)

// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The unwind table of one image as the kernel walk reads it, and its lookup. Written by src/unwind, read by bpf/ and tests.
//
// Tables live in slabs: mmappable BPF arrays whose value is one 64 KiB chunk. A table is a contiguous extent of one slab:
//
//   [page index: __u32 per code page] [rules: unwind_rule × n] [blocks …]
//
// A code page covers 2^page_shift bytes of link addresses. Its index entry is the position of its block in the slab, in
// 4-byte units (0: no rule in this page). No block and no rule straddles a chunk. A block:
//
//   unwind_block header | __u16 offset[rows] | __u16 dictionary[dictionary_count] | __u8 id[rows]
//
// A row means: from this offset in the page up to the next row, rules[dictionary[id]] holds. The first row of a block is at
// offset 0 (page rounding). page_shift is the largest of 16…8 for which every block fits a chunk and 256 distinct rules; at
// 8 both always hold, so there is no row limit. All positions are relative to the slab, little-endian.
// Return addresses are looked up at address − 1, except directly above a signal frame.
#pragma once
#include "abi/arch.h"

#define UNWIND_CHUNK_SHIFT 16
#define UNWIND_CHUNK_BYTES (1u << UNWIND_CHUNK_SHIFT)
#define UNWIND_SUB_COUNT 16
#define UNWIND_MIN_PAGE_SHIFT 8
#define UNWIND_MAX_PAGE_SHIFT 16

enum unwind_cfa_kind {
  CFA_NONE = 0,         // no rule here: between functions, or no FDE
  CFA_OFFSET = 1,       // CFA = reg + cfa_offset
  CFA_DEREF = 2,        // CFA = *(reg + cfa_offset) + cfa_addend      (realigned stacks)
  CFA_PLT = 3,          // CFA = arch_plt_cfa(sp, ip, cfa_offset)   (lazy-binding stubs)
  CFA_SIGNAL = 4,       // rt_sigreturn frame: all registers from the ucontext at sp + cfa_offset
  CFA_OUTERMOST = 5,    // return address undefined: the stack is complete
  CFA_DEREF_TWICE = 6,  // CFA = (*(*(reg + cfa_offset) + 8 × low) & -8) + 8 × high      (a language machine's, kept in its state)
  CFA_UNSUPPORTED = 7,  // the compiler wrote a rule that does not fit: unwinding is deferred. cfa_reg says why, for people
  CFA_FRAME_POINTER = 255,  // code without CFI: unwind_step_frame_pointer(). cfa_reg: 0, or one of those below
};

// JIT code, in which no stack begins: a frame pointer of zero is not the outermost frame's.
#define UNWIND_JIT_CODE 1
// The same, but the caller's stack pointer is what is stored below the frame pointer: the interpreter has moved it, for arguments or local variables.
#define UNWIND_INTERPRETED_JAVA 2

// In via_align: this code leaves alone what its caller needs, also registers that functions may write to otherwise. Hand-written assembly, which
// calls its own helpers so.
#define UNWIND_KEEPS_REGISTERS 0x80

// saved[i] == 0 and bit i of via_base clear: the register keeps its value. Else it is in memory at CFA + 8 × saved[i], or,
// with bit i of via_base set, at base + 8 × saved[i]. base: (CFA − 8) rounded down to a multiple of 2^via_align where that is not 0,
// else the register in bits 6–7 of via_base, its value *before* the step.
// The return address is at CFA − 8; anything else is CFA_UNSUPPORTED.
struct unwind_rule {
  __u8 cfa_kind;   // enum unwind_cfa_kind
  __u8 cfa_reg;    // DWARF number, 0–15; CFA_UNSUPPORTED and CFA_FRAME_POINTER: as said there
  __u8 via_base;   // bits 0–5: by enum unwind_saved; bits 6–7: enum unwind_save_base
  __u8 via_align;  // bits 0–5: 0, or the binary logarithm of what base is aligned to; bit 7: UNWIND_KEEPS_REGISTERS
  __s32 cfa_offset;
  __s8 saved[SAVED_COUNT];
  __s16 cfa_addend;  // CFA_DEREF; CFA_DEREF_TWICE: low byte, high byte, without sign
};
ABI_ASSERT(sizeof(struct unwind_rule) == 16);

struct unwind_block {
  __u32 image;             // the table's owner: the walk checks it, an evicted table's place may have a new owner
  __u16 row_count;         // 1 … (UNWIND_CHUNK_BYTES - header) / 3
  __u16 dictionary_count;  // 1 … 256
  __u16 sub[UNWIND_SUB_COUNT];  // rows with offset < i << (page_shift - 4): where to begin the search
};
ABI_ASSERT(sizeof(struct unwind_block) == 40);

// Where an image's table is. One mmappable array, indexed by image id modulo its size; .image tells whether it is the one.
struct unwind_place {
  __u32 image;        // 0: free (image ids begin at 1)
  __u8 page_shift;
  __u8 flags;         // UNWIND_PLACE_*
  __u16 slab;
  __u32 index;        // position of the page index in the slab, 4-byte units
  __u32 rules;        // position of the rules in the slab, 16-byte units
  __u64 first_page;   // link address >> page_shift of index entry 0
  __u32 page_count;
  __u32 rule_count;
};
ABI_ASSERT(sizeof(struct unwind_place) == 32);

enum unwind_place_flags {
  UNWIND_PLACE_LOADED = 1,   // the walk may read it; written last, cleared first
  UNWIND_PLACE_NO_CFI = 2,   // the image has no table at all: continue by frame pointer
};

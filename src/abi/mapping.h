// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Who maps what, as the kernel walk looks it up: LPM trie `exec_mappings`.
#pragma once
#include "abi/base_types.h"

// Big-endian on the wire: a trie compares bits from the first byte on.
struct mapping_key {
  __u32 prefix_bits;      // of the 96 bits below
  __u32 address_space_be;
  __u64 address_be;
} __attribute__((packed));
ABI_ASSERT(sizeof(struct mapping_key) == 16);
#define MAPPING_KEY_BITS 96

enum mapping_flags {
  MAPPING_JIT = 1,     // anonymous executable memory: frame pointers, absolute frames
  MAPPING_NO_CFI = 2,  // image without any unwind table: continue by frame pointer
};

// The mapping that covers a block. Addresses of the block outside [begin, end) are in no mapping: the walk checks.
struct mapping_value {
  __u64 begin;
  __u64 end;
  __u64 bias;    // link address = runtime address - bias
  __u32 image;   // 0 for MAPPING_JIT
  __u32 flags;   // enum mapping_flags
};
ABI_ASSERT(sizeof(struct mapping_value) == 32);

// BPF hash `processes`: kernel tgid -> the process. Written by lifecycle programs and, for processes that were there before, by
// user space (BPF_NOEXIST). `start_ns` is the leader's start_boottime: with the pid it names the process for ever.
struct process_value {
  __u64 start_ns;
  __u64 mm;             // address of the mm_struct; current->mm != mm means exec in progress
  __u32 address_space;  // never reused; 0 is none
  __u32 generation;     // bumped by user space after any mapping change: invalidates cached frames
  __u32 flags;          // enum process_flags
  __u32 padding;
};
ABI_ASSERT(sizeof(struct process_value) == 32);

enum process_flags {
  PROCESS_TARGET = 1,      // samples are wanted; inherited by fork
  PROCESS_SHARED_SPACE = 2,  // forked and not yet exec'ed or mapped: shares the parent's address space id (copy-on-write)
};

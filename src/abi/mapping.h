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
// user space (BPF_NOEXIST only: a read-modify-write from user space could undo an exec; a child that waits to be released does none,
// so PROCESS_BEFORE_EXEC is set that way, and PROCESS_OWN of ourselves). `start_ns` is the leader's
// start_boottime: with the pid it names the process for ever.
struct process_value {
  __u64 start_ns;
  __u64 mm;             // address of the mm_struct; current->mm != mm means exec in progress. 0 from user space: learnt at the first sample
  __u32 address_space;  // never reused; 0 is none
  __u32 flags;          // enum process_flags
  __u64 last_miss_ns;   // when a RECORD_MISS was last sent
};
ABI_ASSERT(sizeof(struct process_value) == 32);

enum process_flags {
  PROCESS_TARGET = 1,        // samples are wanted; inherited by fork
  PROCESS_COW_PENDING = 2,  // forked and not yet exec'ed or mapped: shares the parent's address space id (copy-on-write)
  PROCESS_EXITED = 4,        // the thread group is gone; the entry stays until the leader is reaped, for samples of the teardown
  PROCESS_BEFORE_EXEC = 8,   // samples are wanted from its next exec on
  PROCESS_OWN = 16,          // of this recording: no event of a probe, which would make more of them; inherited by fork, not by exec
};

// Mmapped array `address_spaces`, indexed by address space id modulo its size (a collision costs a cached frame or a deferred walk).
struct address_space_state {
  __u32 generation;      // bumped by user space after any change of the space's mappings: invalidates cached frames
  __u32 last_sampled_s;  // CLOCK_MONOTONIC, coarse; for evicting the least recently sampled
  __u64 known_version;   // map_version up to which exec_mappings is true, where user space watches that (abi/map_version.h); 0: it does not
};
ABI_ASSERT(sizeof(struct address_space_state) == 16);
#define ADDRESS_SPACE_STATES 65536

// SPDX-License-Identifier: GPL-2.0-only
// What a user walk knows between two frames. In scratch memory: a bpf_loop callback keeps nothing in registers.
#pragma once
#include <bpf/bpf_helpers.h>

#include "abi/base_types.h"

static __always_inline int unwind_read(void *reader, __u64 address, __u64 *value);
#include "abi/unwind_step.h"

struct walk_state {
  struct unwind_regs regs;
  struct stack_window window;
  struct unwind_rule rule;  // of the current frame, when no cache may hold it
  __u64 frame;              // of the current frame
  __u64 value;              // of the last read outside the window
  __u64 hash;
  __u32 address_space;
  __u32 generation;     // grows with the space's mappings, table evictions and the seconds
  __u32 frames;
  __u32 missed;         // frames that the frame cache did not have
  __u32 end_reason;
  __u32 absolute;       // a frame without image was stored
  __u64 cache_key;
  __u64 now_ns;
};

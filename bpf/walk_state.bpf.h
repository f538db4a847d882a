// SPDX-License-Identifier: GPL-2.0-only
// What a user walk knows between two frames. In scratch memory: a bpf_loop callback keeps nothing in registers.
#pragma once
#include <bpf/bpf_helpers.h>

#include "abi/base_types.h"
#include "abi/java_lookup.h"
#include "abi/unwind_step.h"

static __always_inline int java_code_read(void *reader, __u64 address, void *to, __u32 bytes) {
  (void)reader;
  return (int)bpf_probe_read_user(to, bytes, (const void *)address);
}

struct walk_state {
  struct unwind_fast_regs fast;  // of the current frame; in a full walk .sp only, for the window
  struct unwind_regs regs;  // of the current frame in a full walk; the fast path leaves the leaf's here
  struct unwind_regs spare;  // what the fast path steps with where unwind_step_fast() does not
  struct stack_window window;
  struct unwind_rule rule;  // of the current frame, when no cache may hold it
  __u64 frame;              // of the current frame
  __u64 value;              // of the last read outside the window
  __u64 hash;
  __u32 address_space;
  __u32 generation;     // grows with the space's mappings and table evictions
  __u32 frames;
  __u32 missed;         // frames that the frame cache did not have
  __u32 end_reason;
  __u32 absolute;       // a frame without image was stored
  __u32 exact_ip;       // fast path: the next frame is the leaf
  __u32 last_image;     // upper bits of the last frame
  __u32 has_registers;  // regs are those of the frame where the walk stopped
  __u64 cache_key;
  __u32 cache_salt;
  __u64 now_ns;
  struct java_reading java;
};

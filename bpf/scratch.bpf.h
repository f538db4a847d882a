// SPDX-License-Identifier: GPL-2.0-only
// Working memory of one program run: BPF's own stack has 512 bytes. Four slots a CPU, claimed by atomic exchange, because a
// program can be interrupted by another one (and an uprobe program even preempted) while it holds a slot; levels do not nest like
// a stack, so each run releases the slot it claimed.
#pragma once
#include "maps.bpf.h"

#define SCRATCH_SLOTS 4
#define WINDOW_BYTES 4096

// A piece of the user stack, copied. `limit` is the last offset at which eight bytes begin.
struct stack_window {
  __u64 begin;
  __u64 limit;
  __u8 bytes[WINDOW_BYTES + 8];
};
#define WINDOW_NOWHERE (1ull << 63)

struct kernel_stack {
  struct stack_record record;
  __u64 frames[MAX_KERNEL_FRAMES];
};

struct user_stack {
  struct stack_record record;
  __u64 frames[MAX_USER_FRAMES];
};

#include "walk_state.bpf.h"

struct scratch {
  __u32 claimed;
  __u32 slot;
  struct sample_record record;  // here and not on the program's stack, where the verifier would follow every value of every field
  __u32 kernel_frames;
  __u32 has_user_side;  // walk.regs are the user's
  __u32 in_a_hurry;
  struct walk_state walk;
  struct kernel_stack kernel;
  struct user_stack user;
};
_Static_assert(sizeof(struct scratch) <= 32768, "a per-CPU value is at most 32 KiB");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SCRATCH_SLOTS);
  __type(key, __u32);
  __type(value, struct scratch);
} scratch SEC(".maps") __weak;

// Null: all four are taken (a counted loss).
static __always_inline struct scratch *claim_scratch(void) {
  for (__u32 i = 0; i < SCRATCH_SLOTS; i++) {
    __u32 slot = i;
    struct scratch *memory = bpf_map_lookup_elem(&scratch, &slot);
    if (!memory) return 0;
    if (__sync_lock_test_and_set(&memory->claimed, 1) == 0) {
      memory->slot = i;
      return memory;
    }
  }
  return 0;
}

static __always_inline void release_scratch(struct scratch *memory) { *(volatile __u32 *)&memory->claimed = 0; }

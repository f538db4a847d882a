// SPDX-License-Identifier: GPL-2.0-only
// Working memory of one program run: BPF's own stack has 512 bytes. Slots of each CPU, claimed by atomic exchange, because a
// program can be interrupted by another one while it holds one; levels do not nest like a stack, so each run releases the slot it claimed.
// Programs of uprobes can also be preempted, and hold theirs for as long as other threads run there: their slots are their own.
#pragma once
#include "maps.bpf.h"
#include "settings.bpf.h"

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

struct group_text {
  struct text_record record;
  __u64 words[LONGEST_TEXT / 8 + 1];  // with room for a letter more, which says that it goes on, and a 0
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
  struct group_text text;
  struct kernel_stack kernel;
  struct user_stack user;
};
_Static_assert(sizeof(struct scratch) <= 32768, "a per-CPU value is at most 32 KiB");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SCRATCH_SLOTS + PREEMPTIBLE_SLOTS);  // without uprobes the loader leaves theirs out
  __type(key, __u32);
  __type(value, struct scratch);
} scratch SEC(".maps") __weak;

// Null: all are taken (a counted loss).
static __always_inline struct scratch *claim_scratch(int is_preemptible) {
  for (__u32 i = 0; i < (is_preemptible ? PREEMPTIBLE_SLOTS : SCRATCH_SLOTS); i++) {
    __u32 slot = i + (is_preemptible ? SCRATCH_SLOTS : 0);
    struct scratch *memory = bpf_map_lookup_elem(&scratch, &slot);
    if (!memory) return 0;
    if (__sync_lock_test_and_set(&memory->claimed, 1) == 0) {
      memory->slot = slot;
      return memory;
    }
  }
  return 0;
}

// Whether frame_caches and request_copies have a place for this run, which is nobody else's while it holds its slot: that has the first one of its sort.
static __always_inline int has_place(const struct scratch *memory) { return memory->slot == 0 || memory->slot == SCRATCH_SLOTS; }

#define NO_PLACE 0xffffffffu
static __always_inline __u32 place_of(const struct scratch *memory) {
  return has_place(memory) ? bpf_get_smp_processor_id() * places_per_cpu + (memory->slot ? 1 : 0) : NO_PLACE;
}

static __always_inline void release_scratch(struct scratch *memory) { *(volatile __u32 *)&memory->claimed = 0; }

// SPDX-License-Identifier: GPL-2.0-only
// The user walk: bpf_loop over abi/unwind_step.h. Every program type calls this one, none has a shallower one.
#pragma once
#include "frame_lookup.bpf.h"
#include "stack_window.bpf.h"

struct walk_context {
  struct scratch *memory;
  struct frame_cache *cache;  // null when this run may not touch it
};

static __always_inline __u64 mix_hash(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25ull;
  return hash ^ hash >> 32;
}

static long walk_frame(__u32 index, void *opaque) {
  struct walk_context *context = opaque;
  struct scratch *memory = context->memory;
  if (!memory) return 1;
  struct walk_state *walk = &memory->walk;
  struct frame_cache *cache = context->cache;
  __u64 address = unwind_lookup_address(&walk->regs);
  __u64 frame;
  int reason = END_NONE;
  __u64 tag = address ^ walk->cache_key;
  struct cached_frame *entry = cache ? cache->frames[frame_cache_set(tag)] : 0;
  const struct unwind_rule *rule = &walk->rule;
  if (entry && entry->tag == tag) {
    frame = entry->frame;
    rule = &entry->rule;
  } else if (entry && entry[1].tag == tag) {
    frame = entry[1].frame;
    rule = &entry[1].rule;
  } else {
    reason = look_up_frame(walk, cache, address);
    frame = walk->frame;
    walk->missed++;
    if (entry && reason == END_NONE) {
      entry[1] = entry[0];
      entry->tag = tag;
      entry->frame = frame;
      entry->rule = walk->rule;
    }
  }
  __u32 depth = walk->frames;
  memory->user.frames[depth & (MAX_USER_FRAMES - 1)] = frame;
  walk->frames = depth + 1;
  walk->hash = mix_hash(walk->hash, frame);
  if (frame_kind_of(frame) != FRAME_IMAGE) walk->absolute = 1;
  if (reason == END_NONE) reason = unwind_step(walk, rule, &walk->regs);
  walk->end_reason = (__u32)reason;
  return reason != END_NONE;
}

// A 32-bit task: frame pointers, absolute addresses.
static long walk_frame_32(__u32 index, void *opaque) {
  struct walk_context *context = opaque;
  struct scratch *memory = context->memory;
  if (!memory) return 1;
  struct walk_state *walk = &memory->walk;
  __u64 frame = frame_at(FRAME_USER_32, unwind_lookup_address(&walk->regs));
  __u32 depth = walk->frames;
  memory->user.frames[depth & (MAX_USER_FRAMES - 1)] = frame;
  walk->frames = depth + 1;
  walk->hash = mix_hash(walk->hash, frame);
  walk->absolute = 1;
  int reason = unwind_step_frame_pointer_32(walk, &walk->regs);
  walk->end_reason = (__u32)reason;
  return reason != END_NONE;
}

// From memory->walk.regs on. Results in memory->walk and memory->user.frames. Returns the end reason.
__weak __noinline int walk_user_stack(struct scratch *memory, __u32 address_space, __u64 now_ns, int is_32_bit) {
  if (!memory) return END_NONE;
  struct walk_state *walk = &memory->walk;
  struct walk_context context = {.memory = memory};
  if (memory->slot == 0) {
    __u32 cpu = bpf_get_smp_processor_id();
    context.cache = bpf_map_lookup_elem(&frame_caches, &cpu);
  }
  __u32 state_index = address_space & (ADDRESS_SPACE_STATES - 1);
  struct address_space_state *state = bpf_map_lookup_elem(&address_spaces, &state_index);
  __u32 generation = eviction_epoch + (__u32)(now_ns >> 32);
  if (state) {
    generation += state->generation;
    __u32 now_s = (__u32)(now_ns >> 30);
    if (state->last_sampled_s != now_s) state->last_sampled_s = now_s;
  }
  walk->address_space = address_space;
  walk->generation = generation;
  walk->cache_key = frame_cache_key(address_space, generation);
  walk->now_ns = now_ns;
  walk->window.begin = WINDOW_NOWHERE;
  walk->window.limit = 0;
  walk->hash = hash_seed;
  walk->frames = 0;
  walk->missed = 0;
  walk->absolute = 0;
  walk->end_reason = END_NONE;
  if (is_32_bit)
    bpf_loop(MAX_USER_FRAMES, walk_frame_32, &context, 0);
  else
    bpf_loop(MAX_USER_FRAMES, walk_frame, &context, 0);
  if (walk->end_reason == END_NONE) walk->end_reason = END_DEPTH_LIMIT;
  if (walk->absolute) walk->hash = mix_hash(walk->hash, address_space);
  if (walk->hash == 0) walk->hash = 1;
  return (int)walk->end_reason;
}

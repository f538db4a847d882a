// SPDX-License-Identifier: GPL-2.0-only
// The user walk: bpf_loop over abi/unwind_step.h. Every program type calls this one, none has a shallower one.
//
// The fast path first: instruction, stack and frame pointer, in registers over FAST_FRAMES frames, frames from the cache. Where a rule
// wants more, the full walk begins again at the leaf. What costs here is calls (kernel returns go through a thunk that defeats prediction on
// many CPUs), branches that depend on the function, and cache lines; so the fast path has none of the first and few of the others.
#pragma once
#include "frame_lookup.bpf.h"
#include "stack_window.bpf.h"

#define FAST_FRAMES 4
_Static_assert(MAX_USER_FRAMES % FAST_FRAMES == 0, "the depth limit holds in both walks");

struct walk_context {
  struct scratch *memory;
  struct frame_cache *cache;  // null when this run may not touch it
};

static __always_inline __u64 mix_hash(__u64 hash, __u64 word) {
  hash = (hash ^ word) * 0x9fb21c651e98df25ull;
  return hash ^ hash >> 32;
}

// One copy of the step for both walks, verified once.
__weak __noinline int step_full(struct walk_state *walk, const struct unwind_rule *rule, struct unwind_regs *regs) {
  if (!walk || !rule || !regs) return END_NO_TABLE;
  return unwind_step(walk, rule, regs);
}

// A rule that unwind_step_fast() does not take.
__weak __noinline int step_fast(struct walk_state *walk, const struct unwind_rule *rule) {
  if (!walk || !rule) return END_NO_TABLE;
  if (unwind_needs_registers(rule)) return UNWIND_NEEDS_REGISTERS;
  struct unwind_regs *regs = &walk->spare;
  regs->ip = walk->fast.ip;
  regs->gpr[ARCH_SP] = walk->fast.sp;
  regs->gpr[ARCH_FP] = walk->fast.fp;
  regs->exact_ip = 0;
  regs->all_registers = 0;
  int reason = step_full(walk, rule, regs);
  walk->fast.ip = regs->ip;
  walk->fast.sp = regs->gpr[ARCH_SP];
  walk->fast.fp = regs->gpr[ARCH_FP];
  return reason;
}

// The image of frames to come: tells eviction that it is in use (fresh to a second).
__weak __noinline int note_image(struct walk_state *walk, __u64 frame) {
  if (!walk) return 0;
  walk->last_image = (__u32)(frame >> 32) >> (FRAME_IMAGE_SHIFT - 32);
  if (frame_kind_of(frame) != FRAME_IMAGE) {
    walk->absolute = 1;
    return 0;
  }
  __u32 place = frame_image_of(frame) & (UNWIND_PLACES - 1);
  __u64 *used_ns = bpf_map_lookup_elem(&usage, &place);
  if (used_ns && walk->now_ns - *used_ns > 1000000000ull) *used_ns = walk->now_ns;
  return 0;
}

static long walk_fast(__u32 index, void *opaque) {
  struct walk_context *context = opaque;
  struct scratch *memory = context->memory;
  struct frame_cache *cache = context->cache;
  if (!memory || !cache) return 1;
  struct walk_state *walk = &memory->walk;
  struct unwind_fast_regs regs = walk->fast;
  __u64 key = walk->cache_key;
  __u32 salt = walk->cache_salt;
  __u64 hash = walk->hash;
  __u32 depth = walk->frames;
  __u64 not_exact = !walk->exact_ip;
  int reason = END_NONE;
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
  for (__u32 i = 0; i < FAST_FRAMES; i++) {
    __u64 address = regs.ip - not_exact;
    not_exact = 1;
    __u64 tag = address ^ key;
    __u32 l1_set = frame_l1_set(regs.sp, salt);
    struct cached_frame *entry = cache->l1[l1_set];
    if (entry->tag != tag) entry++;
    if (entry->tag != tag) {
      struct cached_frame *l2 = cache->l2[frame_l2_set(tag)];
      if (l2->tag != tag) l2++;
      if (l2->tag == tag) entry = keep_in_l1(cache, l1_set, l2);
    }
    const struct unwind_rule *rule = &entry->rule;
    __u64 frame;
    if (__builtin_expect(entry->tag == tag, 1)) {
      frame = entry->frame;
    } else {
      reason = look_up_and_keep(walk, cache, address, l1_set);
      frame = walk->frame;
      rule = &walk->rule;
    }
    memory->user.frames[depth & (MAX_USER_FRAMES - 1)] = frame;
    depth++;
    hash = mix_hash(hash, frame);
    if (__builtin_expect(frame >> FRAME_IMAGE_SHIFT != walk->last_image, 0)) note_image(walk, frame);
    if (reason) break;
    walk->fast.sp = regs.sp;
    reason = unwind_step_fast(walk, rule, &regs);
    if (__builtin_expect(reason == UNWIND_NOT_FAST, 0)) {
      walk->fast = regs;
      reason = step_fast(walk, rule);
      regs = walk->fast;
    }
    if (reason) break;
  }
  walk->fast = regs;
  walk->hash = hash;
  walk->frames = depth;
  walk->exact_ip = 0;
  walk->end_reason = (__u32)reason;
  return reason != END_NONE;
}

static long walk_frame(__u32 index, void *opaque) {
  struct walk_context *context = opaque;
  struct scratch *memory = context->memory;
  if (!memory) return 1;
  struct walk_state *walk = &memory->walk;
  __u64 address = unwind_lookup_address(&walk->regs);
  int reason = look_up_frame(walk, context->cache, address);
  __u64 frame = walk->frame;
  __u32 depth = walk->frames;
  memory->user.frames[depth & (MAX_USER_FRAMES - 1)] = frame;
  walk->frames = depth + 1;
  walk->hash = mix_hash(walk->hash, frame);
  walk->missed++;
  if (frame >> FRAME_IMAGE_SHIFT != walk->last_image) note_image(walk, frame);
  walk->fast.sp = walk->regs.gpr[ARCH_SP];
  if (reason == END_NONE) reason = step_full(walk, &walk->rule, &walk->regs);
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
  walk->fast.sp = walk->regs.gpr[ARCH_SP];
  int reason = unwind_step_frame_pointer_32(walk, &walk->regs);
  walk->end_reason = (__u32)reason;
  return reason != END_NONE;
}

static __always_inline void begin_walk(struct walk_state *walk) {
  walk->hash = hash_seed;
  walk->frames = 0;
  walk->missed = 0;
  walk->absolute = 0;
  walk->has_registers = 0;
  walk->last_image = 0;
  walk->end_reason = END_NONE;
}

static __always_inline int end_walk(struct walk_state *walk) {
  if (walk->end_reason == END_NONE) walk->end_reason = END_DEPTH_LIMIT;
  if (walk->absolute) walk->hash = mix_hash(walk->hash, walk->address_space);
  if (walk->hash == 0) walk->hash = 1;
  return (int)walk->end_reason;
}

static __always_inline struct frame_cache *frame_cache_of(const struct scratch *memory) {
  __u32 place = place_of(memory);
  return bpf_map_lookup_elem(&frame_caches, &place);  // there is none at NO_PLACE
}

// Each bpf_loop has a function of its own: clang merged two calls into one with a chosen callback, which the verifier cannot inline,
// and each frame was an indirect call through a retpoline.
__weak __noinline int walk_user_stack_32(struct scratch *memory) {
  struct walk_context context = {.memory = memory};
  if (!memory) return END_NONE;
  begin_walk(&memory->walk);
  bpf_loop(MAX_USER_FRAMES, walk_frame_32, &context, 0);
  return end_walk(&memory->walk);
}

// With all registers, from memory->walk.regs on; leaves there those of the frame where it stopped. After walk_user_stack has set the
// space and the generation.
__weak __noinline int walk_with_registers(struct scratch *memory) {
  if (!memory) return END_NONE;
  struct walk_context context = {.memory = memory, .cache = frame_cache_of(memory)};
  begin_walk(&memory->walk);
  memory->walk.has_registers = 1;
  bpf_loop(MAX_USER_FRAMES, walk_frame, &context, 0);
  return end_walk(&memory->walk);
}

// From memory->walk.regs on, and these stay as they are unless the walk needed all of them. Results in memory->walk and
// memory->user.frames. Returns the end reason.
__weak __noinline int walk_user_stack(struct scratch *memory, __u32 address_space, __u64 now_ns, int is_32_bit) {
  if (!memory) return END_NONE;
  struct walk_state *walk = &memory->walk;
  __u32 state_index = address_space & (ADDRESS_SPACE_STATES - 1);
  struct address_space_state *state = bpf_map_lookup_elem(&address_spaces, &state_index);
  __u32 generation = eviction_epoch;
  if (state) {
    generation += state->generation;
    __u32 now_s = (__u32)(now_ns >> 30);
    if (state->last_sampled_s != now_s) state->last_sampled_s = now_s;
  }
  walk->address_space = address_space;
  walk->generation = generation;
  walk->now_ns = now_ns;
  walk->window.begin = WINDOW_NOWHERE;
  walk->window.limit = 0;
  if (is_32_bit) return walk_user_stack_32(memory);
  struct walk_context context = {.memory = memory, .cache = frame_cache_of(memory)};
  if (!context.cache) return walk_with_registers(memory);
  walk->cache_key = frame_cache_key(address_space, generation + (cache_levels < 2 ? (__u32)now_ns : 0));
  walk->cache_salt = frame_cache_salt(walk->regs.gpr[ARCH_SP], walk->cache_key);
  begin_walk(walk);
  walk->fast.ip = walk->regs.ip;
  walk->fast.sp = walk->regs.gpr[ARCH_SP];
  walk->fast.fp = walk->regs.gpr[ARCH_FP];
  walk->exact_ip = walk->regs.exact_ip;
  bpf_loop(MAX_USER_FRAMES / FAST_FRAMES, walk_fast, &context, 0);
  if (walk->end_reason == UNWIND_NEEDS_REGISTERS) return walk_with_registers(memory);
  return end_walk(walk);
}

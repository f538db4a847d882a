// SPDX-License-Identifier: GPL-2.0-only
// Runtime address -> (frame, rule): mapping cache, trie, table.
#pragma once
#include "frame_cache.bpf.h"
#include "scratch.bpf.h"
#include "settings.bpf.h"
#include "abi/frame.h"
#include "abi/unwind_lookup.h"

static __always_inline const __u8 *unwind_chunk(void *tables, __u32 slab, __u32 chunk) {
  (void)tables;
  void *inner = bpf_map_lookup_elem(&unwind_slabs, &slab);
  if (!inner) return 0;
  return bpf_map_lookup_elem(inner, &chunk);
}

static __always_inline __u64 big_endian_64(__u64 value) { return __builtin_bswap64(value); }

// Into *mapping. False: no mapping covers the address.
static __always_inline int find_mapping(struct frame_cache *cache, __u32 address_space, __u32 generation, __u64 address,
                                        struct mapping_value *mapping) {
  struct cached_mapping *entry = 0;
  if (cache && cache_levels > 0) {
    entry = &cache->mappings[mapping_cache_slot(address_space, address)];
    if (entry->address_space == address_space && entry->generation == generation && address >= entry->value.begin &&
        address < entry->value.end) {
      *mapping = entry->value;
      return 1;
    }
  }
  struct mapping_key key = {
      .prefix_bits = MAPPING_KEY_BITS,
      .address_space_be = __builtin_bswap32(address_space),
      .address_be = big_endian_64(address),
  };
  const struct mapping_value *found = bpf_map_lookup_elem(&exec_mappings, &key);
  if (!found || address < found->begin || address >= found->end) return 0;
  *mapping = *found;
  if (entry) {
    entry->address_space = address_space;
    entry->generation = generation;
    entry->value = *mapping;
  }
  return 1;
}

static __always_inline void by_frame_pointer(struct unwind_rule *rule) {
  *rule = (struct unwind_rule){.cfa_kind = CFA_FRAME_POINTER};
}

static __always_inline int returns_into_trampoline(__u64 return_address) {
  __u64 code = 0;
  return !bpf_probe_read_user(&code, ARCH_TRAMPOLINE_BYTES, (const void *)return_address) && arch_is_trampoline(code);
}

// A walk asks for so many frames that no cache has; each costs a dozen reads of user memory.
#define MOST_JAVA_LOOKUPS 192

// Into walk->rule. What cannot be read here may be read by user space, which can have it fetched, or waits for it.
__weak __noinline int look_up_generated(struct walk_state *walk, __u64 address) {
  if (!walk) return END_NO_TABLE;
  if (unwind_mode != UNWIND_FRAME_POINTER) {
    __u32 address_space = walk->address_space;
    const struct java_code *java = bpf_map_lookup_elem(&java_codes, &address_space);
    if (java && walk->missed > MOST_JAVA_LOOKUPS) return END_UNSUPPORTED_RULE;
    int reason = java ? java_code_rule((void *)0, java, address, &walk->java, &walk->rule) : END_NO_RULE;
    if (reason == END_UNREADABLE) return END_UNSUPPORTED_RULE;
    if (reason == END_NONE) return END_NONE;
    const struct unwind_rule *rule = bpf_map_lookup_elem(&machine_rules, &address_space);
    if (rule) {
      walk->rule = *rule;
      return END_NONE;
    }
  }
  walk->rule = (struct unwind_rule){.cfa_kind = CFA_FRAME_POINTER, .cfa_reg = UNWIND_JIT_CODE};
  if (returns_into_trampoline(address + 1)) walk->rule = unwind_trampoline_rule();
  return unwind_mode == UNWIND_TABLE ? END_NO_RULE : END_NONE;
}

#define LOOK_UP_GENERATED 0x102  // look_up_mapped: it is JIT code

// The first part of look_up_frame.
__weak __noinline int look_up_mapped(struct walk_state *walk, struct frame_cache *cache, __u64 address) {
  if (!walk) return END_NO_TABLE;
  struct mapping_value mapping;
  if (!find_mapping(cache, walk->address_space, walk->generation, address, &mapping)) {
    walk->frame = frame_at(FRAME_UNKNOWN, address);
    by_frame_pointer(&walk->rule);
    return unwind_mode == UNWIND_FRAME_POINTER ? END_NONE : END_UNMAPPED_PC;
  }
  if (mapping.flags & MAPPING_JIT) {
    walk->frame = frame_at(FRAME_JIT, address);
    return LOOK_UP_GENERATED;
  }
  __u64 link_address = address - mapping.bias;
  walk->frame = frame_in_image(mapping.image, link_address);
  if (unwind_mode == UNWIND_FRAME_POINTER) {
    by_frame_pointer(&walk->rule);
    return END_NONE;
  }
  __u32 place_index = mapping.image & (UNWIND_PLACES - 1);
  const struct unwind_place *place = bpf_map_lookup_elem(&unwind_places, &place_index);
  if (!place) return END_NO_TABLE;
  if ((mapping.flags & MAPPING_NO_CFI) || (place->image == mapping.image && (place->flags & UNWIND_PLACE_NO_CFI))) {
    by_frame_pointer(&walk->rule);
    return unwind_mode == UNWIND_TABLE ? END_NO_RULE : END_NONE;
  }
  const struct unwind_rule *found;
  int reason = unwind_lookup((void *)0, place, mapping.image, link_address, &found);
  if (reason) return reason;
  walk->rule = *found;
  return walk->rule.cfa_kind == CFA_NONE ? END_NO_RULE : END_NONE;
}

// walk->frame always gets something to show. END_NONE: walk->rule tells how to go on. `cache` may be null.
// Two functions, one after the other: together with their callers they would need more stack than a program has (512 bytes).
static __always_inline int look_up_frame(struct walk_state *walk, struct frame_cache *cache, __u64 address) {
  int reason = look_up_mapped(walk, cache, address);
  return reason == LOOK_UP_GENERATED ? look_up_generated(walk, address) : reason;
}

// The same for what neither level of the frame cache holds, and into both.
__weak __noinline int look_up_and_keep(struct walk_state *walk, struct frame_cache *cache, __u64 address, __u32 l1_set) {
  if (!walk || !cache) return END_NO_TABLE;
  __u64 tag = address ^ walk->cache_key;
  __u32 set = frame_l2_set(tag);
  struct cached_frame *entry = cache->l2[set];
  struct cached_frame *next = cache->l2[set ^ 1];
  // The neighbour set keeps what left this one (its own overflow comes here).
  if (next[1].tag == tag) {
    walk->frame = next[1].frame;
    walk->rule = next[1].rule;
  } else {
    walk->missed++;
    int reason = look_up_frame(walk, cache, address);
    if (reason != END_NONE) return reason;
  }
  next[1] = entry[1];
  entry[1] = entry[0];
  entry->tag = tag;
  entry->frame = walk->frame;
  entry->rule = walk->rule;
  keep_in_l1(cache, l1_set, entry);
  return END_NONE;
}

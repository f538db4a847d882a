// SPDX-License-Identifier: GPL-2.0-only
// Memory of what frames and mappings turned out to be, one a CPU, and one more for its programs that can be preempted; used only by the run
// that holds its place (bpf/scratch.bpf.h), so nothing in it can be torn. A frame hit skips the mapping trie (58–687 ns), and the table's five dependent loads.
//
// What invalidates: `generation` = the space's mapping generation + table evictions. Each part only grows, so no sum comes twice in a
// space.
#pragma once
#include "maps.bpf.h"
#include "settings.bpf.h"
#include "abi/unwind_table.h"

// L1, by where the frame is on the stack: frames that follow each other in a walk follow each other in memory, so the walk reads lines that the
// CPU fetches ahead, in a few pages. By address alone each frame is a line somewhere in 16 pages, and cold at 1 kHz: from 16 to 105 frames of one
// call chain a frame cost 53 ns, now 11. Where no two samples share a frame (50 random chains) a walk costs a fifth more.
#define L1_SETS 1024
// L2, by address: two ways, and what leaves a set goes to its neighbour's second: with 512 addresses in use a direct-mapped cache of the same size missed 10 %, two
// ways alone 3-5 % (bench/kernel_cost). Not larger: with 4,096 sets fewer missed, but on a busy machine a sample took a tenth longer (64 pages).
#define L2_SETS 1024
#define MAPPING_CACHE_ENTRIES 256
#define CACHED_CPUS 1024

struct cached_frame {
  __u64 tag;  // address as looked up (return address - 1) ^ the walk's cache key
  __u64 frame;
  struct unwind_rule rule;
};
_Static_assert(sizeof(struct cached_frame) == 32, "a set is a cache line");

struct cached_mapping {
  __u32 address_space;  // 0: free
  __u32 generation;
  struct mapping_value value;
};

struct frame_cache {
  struct cached_frame l1[L1_SETS][2];  // the newer first
  struct cached_frame l2[L2_SETS][2];
  struct cached_mapping mappings[MAPPING_CACHE_ENTRIES];
};

// By place; the loader sets max_entries. Not a per-CPU map: those hold 32 KiB at most.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, CACHED_CPUS);
  __type(key, __u32);
  __type(value, struct frame_cache);
} frame_caches SEC(".maps") __weak;

// Address space and generation as one number without structure. For two spaces' tags to be equal, the exclusive or of the keys must be that
// of two user addresses: 2^-16 for the bits above them, times the chance below.
static __always_inline __u64 frame_cache_key(__u32 address_space, __u32 generation) {
  __u64 key = (((__u64)address_space << 32 | generation) ^ hash_seed) * 0xff51afd7ed558ccdull;
  key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
  return (key ^ key >> 29) | 1ull << 63;  // no tag is 0, as a free entry's
}
static __always_inline __u32 frame_l2_set(__u64 tag) {
  return (__u32)((tag * 0x9e3779b97f4a7c15ull) >> 48) & (L2_SETS - 1);
}
// 64 bytes of stack a set; `salt` keeps threads apart, whose stacks begin at equal offsets.
static __always_inline __u32 frame_l1_set(__u64 stack_pointer, __u32 salt) { return ((__u32)(stack_pointer >> 6) + salt) & (L1_SETS - 1); }
static __always_inline __u32 frame_cache_salt(__u64 stack_pointer, __u64 key) {
  return (__u32)(((stack_pointer >> 20 ^ key) * 0x9e3779b97f4a7c15ull) >> 48);
}
// Into the newer place of a set, which it returns.
static __always_inline struct cached_frame *keep_in_l1(struct frame_cache *cache, __u32 set, const struct cached_frame *frame) {
  struct cached_frame *ways = cache->l1[set & (L1_SETS - 1)];
  ways[1] = ways[0];
  ways[0] = *frame;
  return ways;
}
static __always_inline __u32 mapping_cache_slot(__u32 address_space, __u64 address) {
  return (__u32)(((address >> 16 ^ (__u64)address_space << 20) * 0x9e3779b97f4a7c15ull) >> 48) & (MAPPING_CACHE_ENTRIES - 1);
}

// SPDX-License-Identifier: Apache-2.0
#include "host_walk.h"

#include <string.h>

#include "walk.bpf.h"

static const struct host_world *world;
static struct scratch memory;
static struct frame_cache cache;
static struct address_space_state states[ADDRESS_SPACE_STATES];
static __u64 used_ns[UNWIND_PLACES];
static __u32 trie_lookups;

// Apart: inlined, GCC warns that a key of four bytes is no mapping_key.
__attribute__((noinline)) void *bpf_map_lookup_elem(const void *map, const void *key) {
  __u32 index;
  memcpy(&index, key, sizeof(index));
  if (map == &exec_mappings) {
    const struct mapping_key *at = key;
    trie_lookups++;
    return (void *)world->find_mapping(world->owner, __builtin_bswap32(at->address_space_be), __builtin_bswap64(at->address_be));
  }
  if (map == &unwind_places) return index < HOST_PLACES ? &world->places[index] : 0;
  if (map == &unwind_slabs) return index < world->slab_count ? (void *)&world->slabs[index] : 0;
  if (map == &frame_caches) return *(const __u32 *)key == 0 ? &cache : 0;
  if (map == &address_spaces) return &states[index % ADDRESS_SPACE_STATES];
  if (map == &usage) return &used_ns[index % UNWIND_PLACES];
  for (__u32 i = 0; i < world->slab_count; i++) {
    if (map != &world->slabs[i]) continue;
    const __u64 begin = (__u64)index * UNWIND_CHUNK_BYTES;
    return begin + UNWIND_CHUNK_BYTES <= world->slabs[i].size ? (void *)(world->slabs[i].bytes + begin) : 0;
  }
  return 0;
}

long bpf_probe_read_user(void *to, __u32 size, const void *from) {
  if (!world->read_user(world->owner, to, size, (__u64)from)) return 0;
  memset(to, 0, size);  // as the kernel does
  return -14;
}

long bpf_loop(__u32 iterations, long (*callback)(__u32 index, void *context), void *context, __u64 flags) {
  (void)flags;
  __u32 i = 0;
  while (i < iterations && callback(i, context) == 0) i++;
  return i;
}

__u32 bpf_get_smp_processor_id(void) { return 0; }

struct host_walk_result host_walk(const struct host_world *where, const struct host_regs *regs, __u32 address_space, enum host_task task, __u32 slot) {
  world = where;
  trie_lookups = 0;
  memset(&memory, 0x5a, sizeof(memory));  // a run finds what the last one left
  memory.slot = slot;
  memset(&memory.walk.regs, 0, sizeof(memory.walk.regs));
  memcpy(memory.walk.regs.gpr, regs->gpr, sizeof(regs->gpr));
  memory.walk.regs.ip = regs->ip;
  memory.walk.regs.exact_ip = 1;
  memory.walk.regs.all_registers = 1;
  const int reason = walk_user_stack(&memory, address_space, 1000, task == HOST_TASK_32);
  return (struct host_walk_result){reason, memory.walk.frames, memory.walk.missed, trie_lookups, memory.walk.hash, memory.user.frames};
}

void host_bump_generation(__u32 address_space) { states[address_space % ADDRESS_SPACE_STATES].generation++; }
void host_forget_caches(void) { memset(&cache, 0, sizeof(cache)); }

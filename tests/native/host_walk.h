// SPDX-License-Identifier: Apache-2.0
// bpf/walk.bpf.h as it is, compiled for the host: the helpers and maps are answered from a HostWorld. One walk at a time.
#pragma once
#include "abi/mapping.h"
#include "abi/unwind_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct host_slab {
  const __u8 *bytes;
  __u64 size;
};

struct host_world {
  void *owner;
  // Null: nothing there. May give a mapping that does not contain the address, as a trie block does.
  const struct mapping_value *(*find_mapping)(void *owner, __u32 address_space, __u64 address);
  // 0, or nonzero when any byte is unreadable.
  int (*read_user)(void *owner, void *to, __u32 size, __u64 address);
  struct unwind_place *places;  // HOST_PLACES, by image id
  const struct host_slab *slabs;
  __u32 slab_count;
};
#define HOST_PLACES 64

struct host_regs {
  __u64 gpr[16];  // DWARF numbering
  __u64 ip;
};

struct host_walk_result {
  int reason;  // enum end_reason
  __u32 frame_count;
  __u32 missed;  // frames that the frame cache did not have
  __u32 trie_lookups;
  __u64 hash;
  const __u64 *frames;  // until the next walk
};

enum host_task { HOST_TASK_64, HOST_TASK_32 };
// slot: of scratch memory. Only the run that holds slot 0 may use the caches.
struct host_walk_result host_walk(const struct host_world *world, const struct host_regs *regs, __u32 address_space, enum host_task task, __u32 slot);
void host_bump_generation(__u32 address_space);
void host_forget_caches(void);
void host_set_unwind_mode(__u32 mode);  // enum unwind_mode

#ifdef __cplusplus
}
#endif

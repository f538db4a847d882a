// SPDX-License-Identifier: GPL-2.0-only
// Whether a memory map is still as user space published it. The walk would name code after what was mapped there before, and find its callers
// with another library's tables; no event tells the kernel side.
//
// Since 6.4 the sequence number of the mmap lock: every change takes that lock. Before, what a replaced mapping cannot leave as it was: taking
// the old pages out flushes the TLB, putting the new ones in adds to the pages that can be executed. Both move for data, too; so only spaces
// where code was replaced lately are looked at (bpf_source/watched_maps.h).
#pragma once
#include "arch.bpf.h"
#include "maps.bpf.h"
#include "abi/map_version.h"

static __always_inline __u32 map_changes(__u64 mm_address) {
  __u32 changes = 0;
  struct mm_struct___seqcount *since_6_13 = (void *)mm_address;
  struct mm_struct *mm = (void *)mm_address;
  if (bpf_core_field_exists(since_6_13->mm_lock_seq)) {
    bpf_probe_read_kernel(&changes, sizeof(changes), &since_6_13->mm_lock_seq);
  } else if (bpf_core_field_exists(mm->mm_lock_seq)) {
    bpf_probe_read_kernel(&changes, sizeof(changes), &mm->mm_lock_seq);
  } else {
    unsigned long executable_pages = 0;
    bpf_probe_read_kernel(&executable_pages, sizeof(executable_pages), &mm->exec_vm);
    changes = (__u32)arch_tlb_flushes(mm) * 0x9e3779b9u + (__u32)executable_pages;
  }
  return changes;
}

static __always_inline __u64 map_version(__u64 mm) { return (mm >> 6 | 1) << 32 | map_changes(mm); }

// False also where nobody watches, and for who shares the space but not the mm (copy-on-write).
static __always_inline int mappings_changed(__u32 address_space, __u64 mm) {
  __u32 index = address_space & (ADDRESS_SPACE_STATES - 1);
  struct address_space_state *state = bpf_map_lookup_elem(&address_spaces, &index);
  if (!state) return 0;
  // Before the generation is read: user space writes it after that.
  __u64 known = *(volatile __u64 *)&state->known_version;
  if (known >> 32 != (__u32)(mm >> 6 | 1)) return 0;
  return (__u32)known != map_changes(mm);
}

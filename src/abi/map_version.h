// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Context of the syscall program `read_map_versions`. A map version is one number for a memory map (mm_struct): another one after
// code was mapped or unmapped there (and often when data was). Upper half: which mm; never 0.
#pragma once
#include "abi/base_types.h"

#define MAP_VERSION_BATCH 16

struct map_version_query {
  __s32 pid;
  __u32 address_space;
  __u64 version;  // out. 0: the process is gone, has another address space by now, or was never sampled
};
struct map_version_batch {
  struct map_version_query queries[MAP_VERSION_BATCH];  // pid 0: none
};
ABI_ASSERT(sizeof(struct map_version_batch) == 16 * MAP_VERSION_BATCH);

// SPDX-License-Identifier: Apache-2.0
// What bpf/settings.bpf.h declares read-only: here a test may change it.
#include "abi/settings.h"

__u32 unwind_mode = UNWIND_AUTO;
__u64 hash_seed = 0x1234567812345678ull;
__u32 next_address_space = 1;
__u32 places_per_cpu = 1;
__u32 cache_levels = 2;
__u32 eviction_epoch;

void host_set_unwind_mode(__u32 mode);
void host_set_unwind_mode(__u32 mode) { unwind_mode = mode; }

// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Context of the syscall program `update_process`: changes one entry of the map `processes` in place. A lookup followed by an
// update from user space would overwrite what an exec on another CPU wrote in between.
#pragma once
#include "abi/base_types.h"

// address_space `from` -> `to` if it still is `from`; clears PROCESS_COW_PENDING.
struct process_update {
  __s32 pid;
  __u32 from;
  __u32 to;
  __u32 done;  // out: 1 if the entry was changed
};
ABI_ASSERT(sizeof(struct process_update) == 16);

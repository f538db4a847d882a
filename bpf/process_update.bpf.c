// SPDX-License-Identifier: GPL-2.0-only
// In-place changes of `processes` asked for by user space (abi/process_update.h).
#include "kernel_types.h"
#include "maps.bpf.h"
#include "abi/process_update.h"

SEC("syscall")
int update_process(struct process_update *update) {
  __s32 pid = update->pid;
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  update->done = 0;
  if (!process) return 0;
  if (__sync_val_compare_and_swap(&process->address_space, update->from, update->to) != update->from) return 0;
  process->flags &= ~PROCESS_COW_PENDING;
  update->done = 1;
  return 0;
}

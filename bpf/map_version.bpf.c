// SPDX-License-Identifier: GPL-2.0-only
// Map versions for user space (abi/map_version.h), which reads them before it applies the mapping events up to then.
#include "kernel_types.h"
#include "map_version.bpf.h"

SEC("syscall")
int read_map_versions(struct map_version_batch *batch) {
  // Unrolled: the verifier allows constant offsets only.
#pragma clang loop unroll(full)
  for (int i = 0; i < MAP_VERSION_BATCH; i++) {
    struct map_version_query *query = &batch->queries[i];
    __s32 pid = query->pid;
    query->version = 0;
    if (!pid) continue;
    struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
    if (process && process->address_space == query->address_space && process->mm) query->version = map_version(process->mm);
  }
  return 0;
}

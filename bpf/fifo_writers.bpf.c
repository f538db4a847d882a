// SPDX-License-Identifier: GPL-2.0-only
// Who writes to a FIFO. Whoever reads it asks for a signal at each write (src/bpf_source/fifo_writers.h); the writer's own thread makes that signal.
#include "kernel_types.h"

#include <bpf/bpf_tracing.h>

const volatile __s32 reader;       // pid
const volatile __s32 read_signal;  // that the reader asked for, and ignores

__u64 writer;  // of the last write: when the process began, in ns since boot
__u64 writes;

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, void *info, struct task_struct *to) {
  if (signal != read_signal || to->tgid != reader) return 0;
  const struct task_struct *from = (const struct task_struct *)bpf_get_current_task_btf();
  writer = from->group_leader->start_boottime;
  __sync_fetch_and_add(&writes, 1);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0-only
// Processes come, change their program and go. The table follows here, at once; user space is told about the interesting ones:
// all in -a mode, else targets and their descendants.
#include "kernel_types.h"
#include "process.bpf.h"

#include <bpf/bpf_tracing.h>

static __always_inline int is_interesting(const struct process_value *process) {
  return process && (filter_mode == FILTER_ALL || (process->flags & PROCESS_TARGET));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
  if (child->tgid == parent->tgid || (child->flags & PF_KTHREAD)) return 0;
  __u64 child_mm = mm_of(child);
  if (!child_mm) return 0;
  __s32 parent_pid = parent->tgid;
  __s32 pid = child->tgid;
  struct process_value *from = bpf_map_lookup_elem(&processes, &parent_pid);
  struct process_value process = {
      .start_ns = child->start_boottime,
      .mm = child_mm,
  };
  if (from) {
    if (!is_interesting(from)) return 0;
    process.address_space = from->address_space;
    process.flags = from->flags & (PROCESS_TARGET | PROCESS_OWN);
    // vfork and CLONE_VM: the same space under another pid. Else a copy, until exec or the first new mapping.
    if (child_mm != mm_of(parent)) process.flags |= PROCESS_COW_PENDING;
  } else {
    if (filter_mode != FILTER_ALL) return 0;
    process.address_space = new_address_space();
    process.flags = PROCESS_TARGET;
  }
  if (bpf_map_update_elem(&processes, &pid, &process, BPF_ANY)) {
    count(COUNTER_PROCESS_TABLE_FULL);
    return 0;
  }
  send_lifecycle(RECORD_FORK, child, parent_pid, &process);
  // A parent nobody knew: the child has a space of its own, to be scanned.
  if (!from) send_lifecycle(RECORD_MISS, child, parent_pid, &process);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid) {
  __s32 pid = task->tgid;
  struct process_value *before = bpf_map_lookup_elem(&processes, &pid);
  if (!before && filter_mode != FILTER_ALL) return 0;
  if (before && !is_interesting(before)) return 0;
  __u64 start_ns = leader_start_ns(task);
  if (before && is_same_start(before->start_ns, start_ns)) start_ns = before->start_ns;  // one name for one process
  struct process_value process = {
      .start_ns = start_ns,
      .mm = mm_of(task),
      .address_space = new_address_space(),
      .flags = before ? before->flags & PROCESS_TARGET : PROCESS_TARGET,
  };
  if (bpf_map_update_elem(&processes, &pid, &process, BPF_ANY)) {
    count(COUNTER_PROCESS_TABLE_FULL);
    return 0;
  }
  send_lifecycle(RECORD_EXEC, task, 0, &process);
  return 0;
}

// Fires for each thread. `live` is 0 for the last one; two that end together may both see that, so the flag makes it once. (6.18
// passes group_dead as an argument, 6.1 does not; `live` is there on both.) The entry stays for samples of the teardown.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
  if (live_threads(task) != 0) return 0;
  __s32 pid = task->tgid;
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  if (!is_interesting(process)) return 0;
  if (__sync_fetch_and_or(&process->flags, PROCESS_EXITED) & PROCESS_EXITED) return 0;
  send_lifecycle(RECORD_EXIT, task, 0, process);
  return 0;
}

// The leader is reaped and its last reference gone. The pid may be in use again: the start time tells.
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task) {
  __s32 pid = task->tgid;
  if (task->pid != pid) return 0;
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  if (process && is_same_start(process->start_ns, task->start_boottime)) bpf_map_delete_elem(&processes, &pid);
  return 0;
}

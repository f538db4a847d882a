// SPDX-License-Identifier: GPL-2.0-only
// How long threads have run, by the scheduler's account (struct thread_time). Of those that live in a look at all threads; of one that ends when the kernel
// frees it: then it has left its CPU for good, so that is all of it.
#include "process.bpf.h"

#include <bpf/bpf_tracing.h>

// tid -> who ends. Full: of the oldest nothing is told.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __s32);
  __type(value, struct thread_time);
} ending_threads SEC(".maps");

// False: its samples are not wanted.
static __always_inline int begin_time(struct thread_time *time, struct task_struct *task) {
  __s32 pid = task->tgid;
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  int is_wanted = process ? filter_mode == FILTER_ALL || (process->flags & PROCESS_TARGET)
                          : filter_mode == FILTER_ALL && include_kernel_threads && (task->flags & PF_KTHREAD);
  if (!is_wanted) return 0;
  *time = (struct thread_time){
      .kind = RECORD_THREAD_TIME,
      .pid = pid,
      .tid = task->pid,
      .start_ns = task->start_boottime,
      .ran_ns = task->se.sum_exec_runtime,
  };
  if (process) {
    time->start_ticks_low = start_ticks_low_of(process);
    time->start_in_tick = start_in_tick_of(process);
  }
  return 1;
}

SEC("iter/task")
int on_each_thread_time(struct bpf_iter__task *context) {
  struct task_struct *task = context->task;
  struct thread_time time;
  if (!task || !begin_time(&time, task)) return 0;
  time.lives = 1;
  bpf_seq_write(context->meta->seq, &time, sizeof(time));
  return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *task) {
  struct thread_time time;
  if (begin_time(&time, task)) bpf_map_update_elem(&ending_threads, &time.tid, &time, BPF_ANY);
  return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_thread_free, struct task_struct *task) {
  __s32 tid = task->pid;
  struct thread_time *time = bpf_map_lookup_elem(&ending_threads, &tid);
  if (!time || time->start_ns != task->start_boottime) return 0;
  time->ran_ns = task->se.sum_exec_runtime;
  if (bpf_ringbuf_output(&events, time, sizeof(*time), BPF_RB_NO_WAKEUP)) count(COUNTER_LIFECYCLE_RING_FULL);
  bpf_map_delete_elem(&ending_threads, &tid);
  return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
// The table of processes, as programs see it.
#pragma once
#include "kernel_types.h"
#include "maps.bpf.h"
#include "settings.bpf.h"

// As samples have it.
static __always_inline __u32 start_ticks_low_of(const struct process_value *process) { return (__u32)(process->start_ns / USER_HZ_NS); }
static __always_inline __u16 start_in_tick_of(const struct process_value *process) { return (__u16)((process->start_ns % USER_HZ_NS << 16) / USER_HZ_NS); }

static __always_inline __u32 new_address_space(void) { return __sync_fetch_and_add(&next_address_space, 1); }

// exec and miss wake the reader where the whole machine is followed, if it would sleep on for more than a millisecond; fork and exit wait.
// Where only some processes are wanted, each record wakes. Once is enough, and a reader that works or pauses in a storm is not woken at
// all: a wakeup is an interrupt of this CPU by itself, which leaves the virtual machine and costs whoever execs 12 us (2026-11-21: 1.2 % of
// 2,000 programs a second). A reader that falls asleep just now is not woken; it sees after its own announcement that urgent_begun has
// moved (BpfObject::consume). Without that, a program that `record` starts was followed 10 ms late in one of three recordings: its exec is
// what lets the reader go to sleep.
static __always_inline void send_lifecycle(__u32 kind, struct task_struct *task, __s32 parent_pid, const struct process_value *process) {
  struct lifecycle_record record = {
      .kind = kind,
      .pid = task->tgid,
      .time_ns = bpf_ktime_get_ns(),
      .start_ns = process->start_ns,
      .parent_pid = parent_pid,
      .address_space = process->address_space,
      .flags = process->flags,
      .tid = task->pid,
  };
  bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
  __u64 wakeup = BPF_RB_NO_WAKEUP;
  int all_urgent = filter_mode != FILTER_ALL;
  int urgent = all_urgent || kind == RECORD_EXEC || kind == RECORD_MISS;
  if (urgent) {
    __sync_fetch_and_add(&urgent_begun, 1);  // a full barrier
    if (reader_waits_until_ns > (all_urgent ? 0 : record.time_ns + 1000000)) {
      reader_waits_until_ns = 0;
      wakeup = BPF_RB_FORCE_WAKEUP;
    }
  }
  if (bpf_ringbuf_output(&events, &record, sizeof(record), wakeup)) count(COUNTER_LIFECYCLE_RING_FULL);
  if (urgent) __sync_fetch_and_add(&urgent_done, 1);
}

// Asks for a scan of the process, at most once a second.
static __always_inline void send_miss(struct task_struct *task, struct process_value *process, __u64 now_ns) {
  if (process->last_miss_ns && now_ns - process->last_miss_ns < 1000000000ull) return;
  process->last_miss_ns = now_ns;
  send_lifecycle(RECORD_MISS, task, 0, process);
}

// First sight of a process that nobody announced. Null: table full, or the process is on its way out. A call of its own, for its stack.
static __noinline __attribute__((unused)) struct process_value *adopt_process(struct task_struct *task, __u32 flags) {
  __s32 pid = task->tgid;
  if (task->flags & PF_EXITING) return 0;
  struct process_value fresh = {
      .start_ns = leader_start_ns(task),
      .mm = mm_of(task),
      .address_space = new_address_space(),
      .flags = flags,
  };
  bpf_map_update_elem(&processes, &pid, &fresh, BPF_NOEXIST);
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  if (!process) count(COUNTER_PROCESS_TABLE_FULL);
  return process;
}

// SPDX-License-Identifier: GPL-2.0-only
// Who waits since when, and which waits are kept: of those that end (bpf/waiting.bpf.c) and those that do not (bpf/blocked.bpf.c).
#pragma once
#include "take_sample.bpf.h"

#include <bpf/bpf_core_read.h>

// Thread ids have 22 bits (PID_MAX_LIMIT). One that runs has no `since_ns`.
struct wait_slot {
  __u32 who;    // thread id | enum wait_kind << 24; 0: free
  __u32 ready;  // low half of sched_info's run_delay, in 1,024 ns. Where wakeups are sampled: from since_ns to the wakeup in 64 ns, 0: it has not come
  __u64 since_ns;
};
#define LONGEST_READY 0xffffffffu  // 274 s, or more

#define WAIT_WAYS 4
struct wait_set {
  struct wait_slot slots[WAIT_WAYS];
};
_Static_assert(sizeof(struct wait_set) == 64, "a cache line");

// Of threads, by the low bits of their id: four a set. on_switch writes, of the thread that leaves and of the one that comes: nobody else writes of
// these two. The loader sets the size, a power of two. Full: that wait is not seen (COUNTER_WAITS_NOT_SEEN). No hash and no task
// storage: both take locks and memory, here under the lock of the run queue.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 16384);
  __type(key, __u32);
  __type(value, struct wait_set);
} wait_sets SEC(".maps") __weak;

// include/linux/sched.h
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED_OR_TRACED 0x000c
#define TASK_DEAD 0x0080
#define TASK_WAKING 0x0200

#define TID_BITS 24
#define TID_MASK ((1u << TID_BITS) - 1)

static __always_inline struct wait_slot *find_slot(struct wait_set *set, __u32 tid) {
  for (int i = 0; i < WAIT_WAYS; i++)
    if ((set->slots[i].who & TID_MASK) == tid) return &set->slots[i];
  return 0;
}

// Whether it waited for a CPU is what this grew by meanwhile, on however many run queues.
static __always_inline __u32 run_delay_of(struct task_struct *task) {
  return bpf_core_field_exists(task->sched_info.run_delay) ? (__u32)(task->sched_info.run_delay >> 10) : 0;
}

static __always_inline struct wait_set *wait_set_of(__u32 tid) {
  __u32 index = tid & wait_set_mask;
  return bpf_map_lookup_elem(&wait_sets, &index);
}

// Who cannot be sampled takes no slot.
static __always_inline int may_take_slot(struct task_struct *task) {
  if (!is_asked_for(task)) return 0;
  if (filter_mode == FILTER_ALL) return 1;
  __s32 tgid = task->tgid;
  struct process_value *process = bpf_map_lookup_elem(&processes, &tgid);
  return is_target(process, task);
}

// Of a thread's first wait. on_switch and a look at all threads may note it at once: they get one slot. Null: none is free.
static __always_inline struct wait_slot *add_slot(struct wait_set *set, __u32 who) {
  for (int i = 0; i < WAIT_WAYS; i++) {
    __u32 before = set->slots[i].who;
    if (before == 0) before = __sync_val_compare_and_swap(&set->slots[i].who, 0, who);
    if (before == 0 || (before & TID_MASK) == (who & TID_MASK)) return &set->slots[i];
  }
  __u32 event = wait_event;
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (counts) __sync_fetch_and_add(&counts->counter[COUNTER_WAITS_NOT_SEEN], 1);
  return 0;
}

// Who has it counts it: the thread's return, or a look at those that are blocked.
static __always_inline int claim_wait(struct wait_slot *slot, __u64 since_ns) { return __sync_val_compare_and_swap(&slot->since_ns, since_ns, 0) == since_ns; }

// How a thread waits that leaves its CPU, or has. One that could run on is taken off its CPU by an interrupt (the kernel says "preempted" only where
// it interrupted itself), or yields.
static __always_inline enum wait_kind kind_of_wait(struct task_struct *task, int preempted, __u32 state) {
  if (preempted || state == 0) return WAIT_PREEMPTED;
  if (task->__state == TASK_WAKING) return WAIT_RUNNABLE;  // somebody was quicker than its switch
  if (BPF_CORE_READ_BITFIELD(task, in_iowait)) return WAIT_DISK;
  if (state & TASK_STOPPED_OR_TRACED) return WAIT_STOPPED;
  return state & TASK_UNINTERRUPTIBLE ? WAIT_UNINTERRUPTIBLE : WAIT_SLEEPING;
}

// How long its wait must be to be kept: uniform over 0 to wait_period_ns, and the same for whoever asks (its return, its waker, a look at those that
// are blocked). 64 waits of a thread in a row share these lengths evenly (steps of the golden ratio from a random start): of waits that are about as long
// as each other, and at least a 64th of wait_period_ns, as many are kept as should be, give or take one or two in a row. Of shorter ones it is a draw
// for each. A longer row would be more exact there, and follow patterns in what the thread does.
#define WAITS_IN_A_ROW_LOG2 6
#define GOLDEN_STEP 0x9e3779b9u  // of 2^32
static __always_inline __u64 least_length_ns(struct task_struct *task) {
  __u32 tid = (__u32)task->pid;
  __u64 number = task->nvcsw + task->nivcsw;
  __u64 begin = mix_hash(mix_hash(hash_seed ^ tid, number >> WAITS_IN_A_ROW_LOG2), tid) >> 32, random = (__u32)(begin + number * GOLDEN_STEP);
  return random * (wait_period_ns >> 32) + (random * (wait_period_ns & 0xffffffff) >> 32);
}

static __always_inline __u64 worth_ns(__u64 length_ns) { return length_ns < wait_period_ns ? wait_period_ns : length_ns; }

// Of a wait, or a part of one, of that length, for which `least_ns` was drawn: COUNTER_STORED, it is to be sampled; else its outcome.
static __always_inline int fate_of_wait(__u64 length_ns, __u64 least_ns) {
  if (length_ns < min_wait_ns || length_ns > max_wait_ns) return COUNTER_OTHER_LENGTH;
  return length_ns >= least_ns ? COUNTER_STORED : COUNTER_SHORT_WAIT;
}

// SPDX-License-Identifier: GPL-2.0-only
// Where threads wait: from the switch away from a thread to its return, on whatever CPU that is.
//
//   on_switch: the thread that leaves notes when; of the one that comes it is known how long it was away
//   on_schedule_exit, on_finish_task_switch: that one runs again, on the same CPU, and its stack is still that of the wait
//
// A wait of d ns is kept with probability d ÷ wait_period_ns, and certainly from there on; what is kept stands for max(d, wait_period_ns). So sums are
// right on average, long waits are all there, and of the many short ones most cost no more than the note. Run-queue time (ready, but not running) is
// kept apart from what was before it, by the scheduler's own account (sched_info): no program runs at each wakeup.
//
// on_switch runs with the run queue's lock held: it takes no lock, and calls nothing that does.
#include "waits.bpf.h"

#include <bpf/bpf_tracing.h>

// Until the thread was ready to run, and from then on.
enum { WAITED, QUEUED, WAIT_PARTS };

// The wait that has just ended on this CPU and may be kept. Nothing else is switched to before its thread is there to be looked at.
struct ended_wait {
  __u32 tid;  // 0: none
  __u32 ready;                  // as in its slot
  __u64 since_ns;
  __u64 least_ns;               // to be kept
  __u64 ended_ns;
  __u64 length_ns[WAIT_PARTS];  // QUEUED: not yet known
  __u32 how[WAIT_PARTS];
  __u32 next_part;
  __u64 value_ns;  // of the part that is to be sampled
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct ended_wait);
} ended_waits SEC(".maps");

static __always_inline void leave(struct task_struct *task, int preempted, __u32 state, __u64 now_ns) {
  __u32 tid = (__u32)task->pid;
  if (tid == 0 || (task->flags & PF_KTHREAD && !include_kernel_threads)) return;
  struct wait_set *set = wait_set_of(tid);
  if (!set) return;
  struct wait_slot *slot = find_slot(set, tid);
  if (state & TASK_DEAD) {
    if (slot) slot->who = 0;
    return;
  }
  __u32 who = tid | (__u32)kind_of_wait(task, preempted, state) << TID_BITS;
  if (!slot && (!may_take_slot(task) || !(slot = add_slot(set, who)))) return;
  slot->who = who;
  slot->ready = wake_event == NO_EVENT ? run_delay_of(task) : 0;
  slot->since_ns = now_ns;
}

static __always_inline void arrive(struct task_struct *task, __u64 now_ns) {
  __u32 tid = (__u32)task->pid;
  __u32 event = wait_event, zero = 0;
  struct ended_wait *ended = bpf_map_lookup_elem(&ended_waits, &zero);
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (!ended || !counts) return;
  if (ended->tid) {
    counts->counter[COUNTER_LOST_WAIT_SKIPPED]++;
    counts->counter[COUNTER_LOST_WAITED_NS] += worth_ns(ended->length_ns[WAITED]);
    ended->tid = 0;
  }
  if (tid == 0) return;
  struct wait_set *set = wait_set_of(tid);
  struct wait_slot *slot = set ? find_slot(set, tid) : 0;
  if (!slot) return;
  __u64 since_ns = slot->since_ns;
  if (since_ns == 0 || !claim_wait(slot, since_ns) || !is_asked_cpu(bpf_get_smp_processor_id())) return;
  ended->since_ns = since_ns;
  if (since_ns < counted_since_ns) since_ns = counted_since_ns;
  if (now_ns > counted_until_ns) now_ns = counted_until_ns;
  if (now_ns <= since_ns) return;
  __u64 length_ns = now_ns - since_ns;
  counts->counter[COUNTER_WAITED_NS] += length_ns;
  __u64 least_ns = least_length_ns(task);
  if (length_ns < least_ns) {
    counts->counter[COUNTER_SHORT_WAIT]++;
    return;
  }
  ended->how[WAITED] = slot->who >> TID_BITS;
  ended->ready = slot->ready;
  ended->length_ns[WAITED] = length_ns;
  ended->least_ns = least_ns;
  ended->ended_ns = now_ns;
  ended->next_part = 0;
  ended->tid = tid;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempted, struct task_struct *before, struct task_struct *next, unsigned int state) {
  if (!sampling_wanted) return 0;
  __u64 now_ns = bpf_ktime_get_ns();
  leave(before, preempted, state, now_ns);
  arrive(next, now_ns);
  return 0;
}

// How long it was ready to run. By the wakeup, where that is known: then both ends of what was waited before are the waker's, too.
static __always_inline __u64 queued_of(struct task_struct *task, struct ended_wait *ended) {
  if (wake_event == NO_EVENT) return (__u64)(run_delay_of(task) - ended->ready) << 10;
  if (ended->ready == 0 || ended->ready == LONGEST_READY) return 0;
  __u64 woken_ns = ended->since_ns + ((__u64)ended->ready << 6);
  return woken_ns < ended->ended_ns ? ended->ended_ns - woken_ns : 0;
}

static __always_inline int keeps_part(struct ended_wait *ended, __u32 part) {
  __u64 length_ns = ended->length_ns[part];
  if (length_ns == 0) return 0;
  ended->value_ns = worth_ns(length_ns);
  int fate = fate_of_wait(length_ns, ended->least_ns);
  if (fate == COUNTER_STORED) return 1;
  __u32 event = wait_event;
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (counts) counts->counter[fate]++;
  return 0;
}

// How the next part of it that is to be sampled was waited (enum wait_kind), WAIT_NONE: there is no more. A call of its own, whose stack has gone when
// the sample is taken: 6.1 counts 512 bytes for all calls together.
__weak __noinline int next_part(void) {
  __u32 zero = 0;
  struct ended_wait *ended = bpf_map_lookup_elem(&ended_waits, &zero);
  if (!ended || ended->tid == 0) return WAIT_NONE;
  struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
  if (ended->tid != (__u32)task->pid) return WAIT_NONE;
  if (ended->next_part == WAITED) {
    __u64 length_ns = ended->length_ns[WAITED], queued_ns = queued_of(task, ended);
    int was_ready = ended->how[WAITED] == WAIT_PREEMPTED || ended->how[WAITED] == WAIT_RUNNABLE;
    if (was_ready || queued_ns > length_ns) queued_ns = length_ns;
    ended->how[QUEUED] = was_ready ? ended->how[WAITED] : WAIT_RUNNABLE;
    ended->length_ns[QUEUED] = queued_ns;
    ended->length_ns[WAITED] = length_ns - queued_ns;
    ended->next_part = QUEUED;
    if (keeps_part(ended, WAITED)) return (int)ended->how[WAITED];
  }
  ended->tid = 0;
  ended->since_ns = bpf_ktime_get_ns() - ended->length_ns[QUEUED];  // no wakeup is looked up by it: it says how long this part lasted
  return keeps_part(ended, QUEUED) ? (int)ended->how[QUEUED] : WAIT_NONE;
}

// `flags`: SAMPLE_IN_A_HURRY, or none.
static __always_inline int take_ended_wait(void *context, __u32 flags) {
#pragma clang loop unroll(disable)
  for (__u32 i = 0; i < WAIT_PARTS; i++) {
    __u32 zero = 0;
    int how = next_part();
    struct ended_wait *ended = how == WAIT_NONE ? 0 : bpf_map_lookup_elem(&ended_waits, &zero);
    if (!ended) break;
    take_sample(context, 0, wait_event, ended->value_ns, (__u32)how | flags, 0, ended->since_ns);
  }
  return 0;
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_schedule_exit, _Bool is_switch) { return take_ended_wait(ctx, 0); }

// Kernels that do not have that tracepoint. The lock of the run queue is still held there.
SEC("kprobe")
int on_finish_task_switch(struct event_registers *context) { return take_ended_wait(context, SAMPLE_IN_A_HURRY); }

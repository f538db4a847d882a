// SPDX-License-Identifier: GPL-2.0-only
// Who wakes threads that wait: a sample of the waker, worth what the other one has waited, of each wait that will be kept (the length that a wait must
// have to be kept is a hash of what it is, so both know). Who is woken cannot run before this has returned.
//
// The thread that is woken is locked meanwhile, and interrupts are off. So the stack is taken in a hurry, and samples of one CPU take a twentieth of
// its time at most: beyond that they have none, and are nobody in particular (COUNTER_WAKERS_IN_HASTE).
#include "waits.bpf.h"

#include <bpf/bpf_tracing.h>

// What this CPU is at.
struct waking {
  __u64 value_ns;  // of the wakeup that is to be sampled
  __u64 since_ns;  // when the wait began that it ends
  __u64 seen_ns;   // the clock at the last one
  __u64 used_ns;   // for stacks, and not yet earned again
};
#define EARNED_IN 20  // ns
#define MOST_USED_NS 1000000
#define MOST_OF_ONE_NS 100000  // whatever the hypervisor did meanwhile

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct waking);
} wakings SEC(".maps");

static __always_inline __u32 how_to_sample(struct waking *waking, struct event_counters *counts, __u32 kind, __u64 now_ns) {
  __u64 earned_ns = (now_ns - waking->seen_ns) / EARNED_IN;
  waking->used_ns = waking->used_ns > earned_ns ? waking->used_ns - earned_ns : 0;
  waking->seen_ns = now_ns;
  if (waking->used_ns <= MOST_USED_NS) return kind | SAMPLE_OF_WAKER | SAMPLE_IN_A_HURRY;
  counts->counter[COUNTER_WAKERS_IN_HASTE]++;
  return kind | SAMPLE_OF_WAKER | SAMPLE_WITHOUT_STACK;
}

// Notes when. How the waker is to be sampled; 0: it is not. A call of its own, whose stack has gone when the sample is taken.
static __noinline __u32 note_wakeup(struct task_struct *task) {
  __u32 tid = (__u32)task->pid, event = wake_event, zero = 0;
  struct wait_set *set = wait_set_of(tid);
  struct wait_slot *slot = set ? find_slot(set, tid) : 0;
  if (!slot) return 0;
  __u64 since_ns = *(volatile __u64 *)&slot->since_ns;
  __u32 kind = *(volatile __u32 *)&slot->who >> TID_BITS;
  if (since_ns == 0 || kind == WAIT_PREEMPTED || kind == WAIT_RUNNABLE || slot->ready) return 0;
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  struct waking *waking = bpf_map_lookup_elem(&wakings, &zero);
  __u64 now_ns = bpf_ktime_get_ns();
  if (!counts || !waking || now_ns < since_ns) return 0;
  __u64 ready = (now_ns - since_ns) >> 6;
  slot->ready = ready == 0 ? 1 : ready > LONGEST_READY ? LONGEST_READY : (__u32)ready;
  __u64 begin_ns = since_ns < counted_since_ns ? counted_since_ns : since_ns, end_ns = now_ns > counted_until_ns ? counted_until_ns : now_ns;
  if (end_ns <= begin_ns) return 0;
  __u64 length_ns = end_ns - begin_ns;
  counts->counter[COUNTER_WAITED_NS] += length_ns;
  int fate = fate_of_wait(length_ns, least_length_ns(task));
  if (fate != COUNTER_STORED) {
    counts->counter[fate]++;
    return 0;
  }
  waking->value_ns = worth_ns(length_ns);
  waking->since_ns = since_ns;
  return how_to_sample(waking, counts, kind, now_ns);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task) {
  if (!sampling_wanted) return 0;
  __u32 how = note_wakeup(task), zero = 0;
  struct waking *waking = how ? bpf_map_lookup_elem(&wakings, &zero) : 0;
  if (!waking) return 0;
  take_sample(ctx, 0, wake_event, waking->value_ns, how, task, waking->since_ns);
  waking = bpf_map_lookup_elem(&wakings, &zero);
  if (!waking || how & SAMPLE_WITHOUT_STACK) return 0;
  __u64 used_ns = bpf_ktime_get_ns() - waking->seen_ns;
  waking->used_ns += used_ns < MOST_OF_ONE_NS ? used_ns : MOST_OF_ONE_NS;
  return 0;
}

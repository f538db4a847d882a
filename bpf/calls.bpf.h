// SPDX-License-Identifier: GPL-2.0-only
// Calls of functions, timed: one probe where the function begins, one at each of its returns.
//
//   begin   at *sp is the return address    calls[sp, process, function] = now
//   return  sp is the same again            now - calls[…], which is forgotten
//
// What a call is, is decided where it begins, by its arguments: whether it is wanted, drawn, and by what it is grouped. An exception, longjmp() or a jump leaves a function
// without a return. Its call is found when the next one begins at the same place; that need not be wanted, so it is looked for in any case: else that one's return would
// end the old call.
#pragma once
#include "abi/call.h"
#include "take_sample.bpf.h"

// Programs write; user space counts what is left, and takes calls of processes away that have ended. Full: the call is counted as lost. As many as can be under way at once,
// and be left without a return. With memory of its own: a program of the kernel's functions must not allocate. The loader makes it small where nothing is timed.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MAX_CALLS);
  __type(key, struct call_key);
  __type(value, struct call_begin);
} calls SEC(".maps");

// Whether the current task's calls are. Verified once for all places where it is asked.
__weak __noinline int is_wanted_by_probes(void) {
  struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
  __s32 pid = task->tgid;
  struct process_value *process = bpf_map_lookup_elem(&processes, &pid);
  if (process && process->flags & PROCESS_OWN) return 0;
  return is_asked_for(task) && (filter_mode == FILTER_ALL || is_target(process, task));
}

// A text is read where the call begins. A call of its own, so that it is verified apart.
static __noinline int keep_text(struct hit *hit, int is_preemptible) {
  struct scratch *memory = claim_scratch(is_preemptible);
  if (!memory) return COUNTER_LOST_NO_SCRATCH;
  int outcome = hash_group(memory, hit);
  release_scratch(memory);
  return outcome;
}

// Its outcome; COUNTER_STORED: its time is to be kept. `hit->value`: of how many calls one is.
static __always_inline int weigh_call(void *context, __u32 event, __u32 place, struct hit *hit, int is_preemptible) {
  if (!is_wanted_by_probes()) return COUNTER_FILTERED;
  int outcome = weigh_hit(context, event, place, hit);
  return outcome == COUNTER_STORED && hit->group_kind == GROUP_TEXT ? keep_text(hit, is_preemptible) : outcome;
}

// A call of its own, for its stack.
static __noinline int begin_call(void *context, __u64 cookie, const struct call_key *key) {
  __u32 event = cookie_event(cookie);
  struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
  if (!counts) return 0;
  struct hit hit = {.value = cookie_value(cookie)};
  int is_seen = sampling_wanted != 0;
  // Programs of the kernel's functions are not preempted.
  int outcome = is_seen ? weigh_call(context, event, cookie_fields(cookie), &hit, key->pid != 0) : COUNTER_FILTERED;
  // Unless user space has just counted it.
  if (bpf_map_lookup_elem(&calls, key) && bpf_map_delete_elem(&calls, key) == 0) add_count(counts, COUNTER_NEVER_RETURNED, 1);
  if (!is_seen) return 0;
  add_count(counts, COUNTER_CALLS_BEGUN, 1);
  if (outcome == COUNTER_STORED) {
    struct call_begin begin = {.time_ns = bpf_ktime_get_ns(), .group = hit.group};
    if (bpf_map_update_elem(&calls, key, &begin, BPF_ANY) == 0) return 0;
    outcome = COUNTER_LOST_NO_ROOM_FOR_CALL;
  }
  if (outcome >= 0 && outcome < COUNTER_COUNT) add_count(counts, (__u32)outcome, 1);
  return 0;
}

// A call that has returned.
struct ended_call {
  __u64 value;  // its ns, times the calls that it stands for; too large to count: all bits
  __u64 group;
};

// False: its begin was not kept. That is worth a word where all calls are.
static __noinline int end_call(__u64 cookie, const struct call_key *key, __u64 now_ns, struct ended_call *ended) {
  __u32 event = cookie_event(cookie);
  __u64 hits = cookie_value(cookie);
  struct call_begin *begin = bpf_map_lookup_elem(&calls, key);
  if (!begin) {
    struct event_counters *counts = bpf_map_lookup_elem(&counters, &event);
    const volatile struct event_fields *fields = find_fields(event, cookie_fields(cookie));
    int keeps_all = hits <= 1 && fields && !fields->filters && sampling_wanted;
    if (counts && keeps_all && is_wanted_by_probes()) add_count(counts, COUNTER_BEGIN_NOT_SEEN, 1);
    return 0;
  }
  __u64 ns = now_ns - begin->time_ns;
  ended->group = begin->group;
  ended->value = hits > 1 && ns > LARGEST_VALUE / hits ? ~0ull : ns * hits;
  bpf_map_delete_elem(&calls, key);
  return 1;
}

// SPDX-License-Identifier: GPL-2.0-only
// Samples of functions, where they begin or return: of programs and of the kernel. Attached with an event_cookie() whose value says how many hits a
// sample stands for.
#include "take_sample.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} no_programs SEC(".maps");

static const volatile __u32 never = 0;

SEC("uprobe")
int on_user_function(struct event_registers *context) {
  // Kernels from 6.13 on give programs of this type a stack that belongs to the CPU, on which two that preempt each other would write. Not where there is a tail call.
  if (never) bpf_tail_call(context, &no_programs, 0);
  if (!sampling_wanted) return 0;
  __u64 cookie = bpf_get_attach_cookie(context);
  take_sample(context, context, cookie_event(cookie), cookie_value(cookie), SAMPLE_OF_PROBE | SAMPLE_PREEMPTIBLE, 0, 0);
  return 0;
}

// They may be anywhere, also under the lock of a run queue: little of a stack is copied for user space.
SEC("kprobe")
int on_kernel_function(void *context) {
  if (!sampling_wanted) return 0;
  __u64 cookie = bpf_get_attach_cookie(context);
  take_sample(context, 0, cookie_event(cookie), cookie_value(cookie), SAMPLE_OF_PROBE | SAMPLE_IN_A_HURRY, 0, 0);
  return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
// Samples of tracepoints, where the kernel passes them. Attached with an event_cookie() whose value says how many hits a sample stands for.
//
// They may be anywhere, also under the lock of a run queue: little of a stack is copied for user space.
#include "take_sample.bpf.h"

SEC("tracepoint")
int on_tracepoint(void *context) {
  if (!sampling_wanted) return 0;
  __u64 cookie = bpf_get_attach_cookie(context);
  take_sample(context, 0, cookie_event(cookie), cookie_value(cookie), SAMPLE_OF_PROBE | SAMPLE_IN_A_HURRY, 0, 0);
  return 0;
}

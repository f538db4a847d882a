// SPDX-License-Identifier: GPL-2.0-only
// Samples of tracepoints, where the kernel passes them. Attached with an event_cookie() whose value says how many hits a sample stands for.
//
// Most may be anywhere, also under the lock of a run queue: little of a stack is copied for user space then.
#include "take_sample.bpf.h"

SEC("tracepoint")
int on_tracepoint(void *context) {
  if (!sampling_wanted) return 0;
  __u64 cookie = bpf_get_attach_cookie(context);
  __u32 event = cookie_event(cookie);
  __u32 hurry = event_fields[event & (MAX_EVENTS - 1)].has_time ? 0 : SAMPLE_IN_A_HURRY;
  take_sample(context, 0, event, cookie_value(cookie), SAMPLE_OF_PROBE | hurry, 0, 0);
  return 0;
}

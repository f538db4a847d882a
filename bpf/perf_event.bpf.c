// SPDX-License-Identifier: GPL-2.0-only
// Samples of perf events: clocks, hardware and software counters. Attached with an event_cookie().
#include "take_sample.bpf.h"

// include/uapi/linux/bpf_perf_event.h
struct perf_event_context {
  struct event_registers regs;
  __u64 sample_period;
  __u64 addr;
};

SEC("perf_event")
int on_perf_event(struct perf_event_context *context) {
  __u64 cookie = bpf_get_attach_cookie(context);
  __u32 value = cookie_value(cookie);
  take_sample(context, &context->regs, cookie_event(cookie), value ? value : context->sample_period, WAIT_NONE, 0, 0);
  return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
// Samples of functions, where they begin or return: of programs and of the kernel. Attached with an event_cookie() whose value says how many hits a
// sample stands for. Where calls are timed (bpf/calls.bpf.h), its place_cookie() says what it is to a call.
#include "calls.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} no_programs SEC(".maps");

static const volatile __u32 never = 0;

// `pid`: of call_key. `how`: as take_sample() has it.
static __always_inline int pass_function(struct event_registers *context, const struct event_registers *regs, __u32 pid, __u32 how) {
  __u64 cookie = bpf_get_attach_cookie(context);
  __u32 role = cookie_role(cookie);
  struct ended_call ended = {.value = cookie_value(cookie)};
  if (role == ROLE_HIT) {
    if (!sampling_wanted) return 0;
  } else {
    __u64 now_ns = bpf_ktime_get_ns();
    struct call_key key = {.stack_pointer = context->sp, .pid = pid, .function = call_function(cookie)};
    if (role == ROLE_BEGIN) return begin_call(context, cookie, &key);
    if (role == ROLE_RETURNED) key.stack_pointer -= regs && (__u16)regs->cs == USER_CODE_SEGMENT_32 ? 4 : 8;
    if (!end_call(cookie, &key, now_ns, &ended)) return 0;
    how |= SAMPLE_OF_CALL;
  }
  take_sample_at(context, regs, cookie_event(cookie), ended.value, how, 0, ended.group, cookie_fields(cookie));
  return 0;
}

SEC("uprobe")
int on_user_function(struct event_registers *context) {
  // Kernels from 6.13 on give programs of this type a stack that belongs to the CPU, on which two that preempt each other would write. Not where there is a tail call.
  if (never) bpf_tail_call(context, &no_programs, 0);
  return pass_function(context, context, bpf_get_current_pid_tgid() >> 32, SAMPLE_OF_PROBE | SAMPLE_PREEMPTIBLE);
}

// They may be anywhere, also under the lock of a run queue: little of a stack is copied for user space.
SEC("kprobe")
int on_kernel_function(struct event_registers *context) { return pass_function(context, 0, 0, SAMPLE_OF_PROBE | SAMPLE_IN_A_HURRY); }

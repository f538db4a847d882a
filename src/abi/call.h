// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Calls that have begun and not returned, of functions whose calls are timed (bpf/calls.bpf.h).
#pragma once
#include "abi/event_cookie.h"

// Where the return address of a call lies. No other call under way of that function has it there: whoever runs it, on whatever thread, and however deep.
struct call_key {
  __u64 stack_pointer;
  __u32 pid;       // 0: the kernel, whose stacks are in one address space
  __u32 function;  // the low half of a cookie, without its role
};
ABI_INLINE __u32 call_function(__u64 cookie) { return (__u32)cookie & ~(((1u << COOKIE_ROLE_BITS) - 1) << COOKIE_EVENT_BITS); }
ABI_INLINE __u32 call_event(const struct call_key *key) { return cookie_event(key->function); }

struct call_begin {
  __u64 time_ns;
  __u64 group;
};

#define MAX_CALLS 65536

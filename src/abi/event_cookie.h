// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// BPF cookie of a program that samples: for which event it runs, and what its samples are worth; and what its place is to it.
//
//   bits 0-7 event   8-9 enum probe_role   10-31 place   32-63 value
#pragma once
#include "abi/base_types.h"

#define MAX_EVENTS 16  // of one recording

// What a probe is to its event.
enum probe_role {
  ROLE_HIT = 0,       // each time it is passed is a sample
  ROLE_BEGIN = 1,     // a call begins: its time is kept
  ROLE_RETURN = 2,    // the instruction that returns: a sample of the time since then
  ROLE_RETURNED = 3,  // the same, but the return address is off the stack
};
#define MAX_COOKIE_PLACES (1 << 22)

// `value` of each sample; 0: as many units as the event counted (its period).
ABI_INLINE __u64 event_cookie(__u32 event, __u32 value) { return (__u64)value << 32 | event; }
// `place`: less than MAX_COOKIE_PLACES. ROLE_HIT: an index of place_fields, where its numbers are not where those of the event's other places are; 0: none. Else the function,
// the same number for all its probes.
ABI_INLINE __u64 place_cookie(__u64 event_cookie, __u32 role, __u32 place) { return event_cookie | role << 8 | place << 10; }
ABI_INLINE __u32 cookie_event(__u64 cookie) { return (__u8)cookie; }
ABI_INLINE __u32 cookie_role(__u64 cookie) { return (__u32)cookie >> 8 & 3; }
ABI_INLINE __u32 cookie_place(__u64 cookie) { return (__u32)cookie >> 10; }
ABI_INLINE __u32 cookie_value(__u64 cookie) { return (__u32)(cookie >> 32); }

// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// BPF cookie of a program that samples: for which event it runs, and what its samples are worth; and what its place is to it.
//
//   bits 0-3 event   4-5 enum probe_role   6-31 place (0-9 fields, 10-25 function)   32-63 value
#pragma once
#include "abi/base_types.h"

#define MAX_EVENTS 16  // of one recording
#define COOKIE_EVENT_BITS 4
#define COOKIE_ROLE_BITS 2

// What a probe is to its event.
enum probe_role {
  ROLE_HIT = 0,       // each time it is passed is a sample
  ROLE_BEGIN = 1,     // a call begins: its time is kept
  ROLE_RETURN = 2,    // the instruction that returns: a sample of the time since then
  ROLE_RETURNED = 3,  // the same, but the return address is off the stack
};
#define COOKIE_FIELDS_BITS 10
#define MAX_COOKIE_FUNCTIONS (1 << 16)

// `value` of each sample; 0: as many units as the event counted (its period).
ABI_INLINE __u64 event_cookie(__u32 event, __u32 value) { return (__u64)value << 32 | event; }
// `fields`: an index of place_fields, where the place's numbers are not where those of the event's other places are; 0: none. `function`: less than MAX_COOKIE_FUNCTIONS; where
// calls are timed the same for all probes of a function.
ABI_INLINE __u32 cookie_place(__u32 function, __u32 fields) { return function << COOKIE_FIELDS_BITS | fields; }
ABI_INLINE __u64 place_cookie(__u64 event_cookie, __u32 role, __u32 place) { return event_cookie | role << COOKIE_EVENT_BITS | place << (COOKIE_EVENT_BITS + COOKIE_ROLE_BITS); }
ABI_INLINE __u32 cookie_event(__u64 cookie) { return (__u32)cookie & (MAX_EVENTS - 1); }
ABI_INLINE __u32 cookie_role(__u64 cookie) { return (__u32)cookie >> COOKIE_EVENT_BITS & ((1 << COOKIE_ROLE_BITS) - 1); }
ABI_INLINE __u32 cookie_fields(__u64 cookie) { return (__u32)cookie >> (COOKIE_EVENT_BITS + COOKIE_ROLE_BITS) & ((1 << COOKIE_FIELDS_BITS) - 1); }
ABI_INLINE __u32 cookie_value(__u64 cookie) { return (__u32)(cookie >> 32); }

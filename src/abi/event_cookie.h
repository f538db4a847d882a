// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// BPF cookie of a program that samples: for which event it runs, and what its samples are worth.
#pragma once
#include "abi/base_types.h"

#define MAX_EVENTS 16  // of one recording

// `value` of each sample; 0: as many units as the event counted (its period).
ABI_INLINE __u64 event_cookie(__u32 event, __u32 value) { return (__u64)value << 32 | event; }
ABI_INLINE __u32 cookie_event(__u64 cookie) { return cookie & 0xff; }
ABI_INLINE __u32 cookie_value(__u64 cookie) { return (__u32)(cookie >> 32); }
// Of a place whose numbers are not where those of the event's other places are: an index of place_fields, 24 bits; 0: none.
ABI_INLINE __u64 cookie_of_place(__u64 cookie, __u32 fields) { return cookie | (__u64)fields << 8; }
ABI_INLINE __u32 cookie_place_fields(__u64 cookie) { return (__u32)cookie >> 8; }

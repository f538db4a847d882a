// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What is asked of the numbers that a probe hands over: which hits are wanted, what each counts, and what they are grouped by.
#pragma once
#include "abi/base_types.h"

// Of a tracepoint's record, as tracefs describes it, or of the registers at a function (struct pt_regs). The kernel's order of bytes.
struct event_field {
  __u16 offset;
  __u8 bytes;      // 1, 2, 4, 8; 0: no field
  __u8 is_signed;
};

enum comparison { IS_EQUAL, IS_NOT_EQUAL, IS_LESS, IS_LESS_OR_EQUAL, IS_GREATER, IS_GREATER_OR_EQUAL };

struct field_filter {
  struct event_field field;
  __u32 comparison;  // enum comparison
  __s64 number;
};

#define MAX_FIELD_FILTERS 8
struct event_fields {
  struct event_field value;  // what a hit counts; none: one
  struct event_field group;  // none: they are not grouped
  __u32 filters;             // all of them must hold
  __u32 has_time;            // of a tracepoint: it keeps nobody waiting
  struct field_filter filter[MAX_FIELD_FILTERS];
};

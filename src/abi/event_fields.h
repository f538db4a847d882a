// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What is asked of the numbers that a probe hands over: which hits are wanted, what each counts, and what they are grouped by: a number, or a text.
#pragma once
#include "abi/base_types.h"

// A record is a tracepoint's, as tracefs describes it, or the registers at a function (struct pt_regs). The kernel's order of bytes.
enum field_kind {
  FIELD_OF_RECORD,
  FIELD_CONSTANT,
  FIELD_IN_MEMORY,    // of user space, at [register] + [index register] << index_shift + number
  FIELD_OF_ARGUMENT,  // in user space only: where it is differs by place. `offset`: its number, of the arguments of a USDT probe, or of those that an event names
};

#define NO_REGISTER 0xffff
#define WHOLE_ARGUMENT 0xff

struct event_field {
  __u16 offset;  // in the record; FIELD_IN_MEMORY: of the register, or NO_REGISTER
  __u8 bytes;    // 1, 2, 4, 8; 0: no field; FIELD_OF_ARGUMENT: WHOLE_ARGUMENT, or its low bytes
  __u8 is_signed;
  __u8 kind;         // enum field_kind
  __u8 index_shift;  // FIELD_IN_MEMORY: 0 to 3
  __u16 index;       // FIELD_IN_MEMORY: offset of the index register in the record, or NO_REGISTER
  __s64 number;      // FIELD_CONSTANT: what it is; FIELD_IN_MEMORY: bytes that are added
};
ABI_ASSERT(sizeof(struct event_field) == 16);

enum comparison { IS_EQUAL, IS_NOT_EQUAL, IS_LESS, IS_LESS_OR_EQUAL, IS_GREATER, IS_GREATER_OR_EQUAL };

struct field_filter {
  struct event_field field;
  __u32 comparison;  // enum comparison
  __u32 padding;
  __s64 number;
};

// Where the text lies that hits are grouped by, as the field `group` says. It ends with a 0, or where it can have no more bytes.
enum text_place {
  TEXT_NONE,       // they are grouped by the number
  TEXT_OF_USER,    // at that address of user space. A program may hand over what it likes: an address of the kernel's is not read
  TEXT_OF_KERNEL,  // at that address of the kernel
  TEXT_OF_EITHER,  // of either, by the half of the addresses
  TEXT_IN_RECORD,  // in the record, from the field on; `number`: how many bytes
  TEXT_LOCATED,    // in the record; the field says at what distance from `number` (low 16 bits), and how many bytes (high 16 bits)
};

#define MAX_FIELD_FILTERS 8
#define MAX_PLACE_FIELDS 1024  // of one recording; places whose arguments are in the same registers share one
struct event_fields {
  struct event_field value;  // what a hit counts; none: one
  struct event_field group;  // none: they are not grouped
  __u32 filters;             // all of them must hold
  __u16 has_time;            // of a tracepoint: it keeps nobody waiting
  __u16 group_text;          // enum text_place
  struct field_filter filter[MAX_FIELD_FILTERS];
};

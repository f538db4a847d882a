// SPDX-License-Identifier: GPL-2.0-only
// Hits of probes by the numbers that they hand over (abi/event_fields.h): which are wanted, what each counts, by what they are grouped, and which of them are drawn.
#pragma once
#include "abi/counters.h"
#include "abi/records.h"
#include "maps.bpf.h"
#include "settings.bpf.h"

#include <bpf/bpf_helpers.h>

// A program may read its context at places only that it was compiled with. As any memory of the kernel's it is read anywhere; what is passed there is a number,
// and a copy on the stack makes one of the pointer.
static __always_inline __u64 address_of(void *context) {
  void *volatile kept = context;
  __u64 address = 0;
  bpf_probe_read_kernel(&address, sizeof(address), (const void *)&kept);
  return address;
}

static __always_inline __u64 read_register(__u64 record, __u32 offset) {
  __u64 value = 0;
  if (offset != NO_REGISTER) bpf_probe_read_kernel(&value, sizeof(value), (const void *)(record + offset));
  return value;
}

// Of user space: as many bytes as it has, since the next page may not be there.
static __always_inline long read_memory(__u64 record, const volatile struct event_field *field, __u64 *raw) {
  __u64 address = read_register(record, field->offset) + (read_register(record, field->index) << (field->index_shift & 3)) + (__u64)field->number;
  __u32 bytes = field->bytes;
  if (bytes > sizeof(*raw)) return -1;
  return bpf_probe_read_user(raw, bytes, (const void *)address);
}

// Sign or zeros up to 64 bits; what lies behind it in a record is read, too, and left out. Not 0: it cannot be read.
static __always_inline long read_field(__u64 record, const volatile struct event_field *field, __u64 *value) {
  __u64 raw = 0;
  long failed = 0;
  if (field->kind == FIELD_CONSTANT) raw = (__u64)field->number;
  else if (field->kind == FIELD_IN_MEMORY) failed = read_memory(record, field, &raw);
  else failed = bpf_probe_read_kernel(&raw, sizeof(raw), (const void *)(record + field->offset));
  __u32 left = (64 - 8 * field->bytes) & 63;
  *value = field->is_signed ? (__u64)((__s64)(raw << left) >> left) : raw << left >> left;
  return failed;
}

// By value: an unsigned one may be larger than all signed ones. Global, so that its answer is an unknown number: else the verifier follows each comparison's outcomes
// through all that comes behind it.
__weak __noinline int compare(__u64 value, __u32 is_signed, __s64 number, __u32 comparison) {
  __s64 field = (__s64)value;
  int is_larger = !is_signed && field < 0;
  int order = is_larger || field > number ? 1 : field < number ? -1 : 0;
  switch (comparison) {
    case IS_EQUAL: return order == 0;
    case IS_NOT_EQUAL: return order != 0;
    case IS_LESS: return order < 0;
    case IS_LESS_OR_EQUAL: return order <= 0;
    case IS_GREATER: return order > 0;
    default: return order >= 0;
  }
}
static __always_inline int holds(const volatile struct field_filter *filter, __u64 value) {
  return compare(value, filter->field.is_signed, filter->number, filter->comparison);
}

#define LARGEST_VALUE 0x7fffffffffffffffull  // of a sample

// One of `count` is, at random: no pattern in what a program does is followed.
static __always_inline int is_drawn(__u64 count) { return count <= 1 || (__u64)bpf_get_prandom_u32() * count <= 0xffffffff; }

struct hit {
  __u64 value;  // how many hits a sample stands for; weighed: what it counts
  __u64 group;        // of a text: where it lies, until its hash is known (bpf/group_text.bpf.h)
  __u16 text_bytes;   // it has no more
  __u8 group_kind;    // enum group_kind
  __u8 is_of_kernel;  // the text
};

static __always_inline __u8 group_kind_of(const volatile struct event_fields *fields) {
  if (!fields->group.bytes) return GROUP_NONE;
  return fields->group_text ? GROUP_TEXT : fields->group.is_signed ? GROUP_SIGNED : GROUP_UNSIGNED;
}

// From the field's number in `hit->group` to the text's address.
static __always_inline void find_text(__u64 record, const volatile struct event_fields *fields, struct hit *hit) {
  __u32 place = fields->group_text;
  __u64 bytes = LONGEST_TEXT + 1;
  if (place == TEXT_IN_RECORD) {
    bytes = (__u64)fields->group.number;
    hit->group = record + fields->group.offset;
  } else if (place == TEXT_LOCATED) {
    bytes = (__u16)(hit->group >> 16);
    hit->group = record + (__u64)fields->group.number + (__u16)hit->group;
  }
  hit->text_bytes = bytes < LONGEST_TEXT + 1 ? (__u16)bytes : LONGEST_TEXT + 1;
  hit->is_of_kernel = place == TEXT_OF_EITHER ? (__s64)hit->group < 0 : place != TEXT_OF_USER;
}

// `place`: in place_fields; 0: the event's own hold. Null: nobody has written it.
static __always_inline const volatile struct event_fields *find_fields(__u32 event, __u32 place) {
  if (place) return bpf_map_lookup_elem(&place_fields, &place);
  return &event_fields[event & (MAX_EVENTS - 1)];
}

// COUNTER_STORED: the hit is to be sampled; else its outcome. `place`: as find_fields() has it. A call of its own, whose stack is gone when the sample
// is taken.
static __noinline int weigh_hit(void *context, __u32 event, __u32 place, struct hit *hit) {
  const volatile struct event_fields *fields = find_fields(event, place);
  __u64 hits = hit->value, counts = 1;
  if (!fields) return COUNTER_LOST_UNREADABLE;
  if (fields->filters | fields->value.bytes | fields->group.bytes) {
    __u64 record = address_of(context), number = 0;
    for (__u32 i = 0; i < MAX_FIELD_FILTERS && i < fields->filters; i++) {
      if (read_field(record, &fields->filter[i].field, &number)) return COUNTER_LOST_UNREADABLE;
      if (!holds(&fields->filter[i], number)) return COUNTER_FILTERED_OUT;
    }
    if (fields->value.bytes) {
      if (read_field(record, &fields->value, &counts)) return COUNTER_LOST_UNREADABLE;
      if ((__s64)counts < 0) return COUNTER_LOST_UNCOUNTABLE;
      if (counts && hits > LARGEST_VALUE / counts) return COUNTER_LOST_UNCOUNTABLE;
    }
    if (fields->group.bytes) {
      if (read_field(record, &fields->group, &number)) return COUNTER_LOST_UNREADABLE;
      hit->group = number;
      hit->group_kind = group_kind_of(fields);
      if (hit->group_kind == GROUP_TEXT) find_text(record, fields, hit);
    }
  }
  if (!is_drawn(hits)) return COUNTER_SAMPLED_OUT;
  hit->value = hits * counts;
  return COUNTER_STORED;
}

// The same of a call that was weighed when it began.
static __always_inline int take_call(__u32 event, __u32 place, __u64 group, struct hit *hit) {
  const volatile struct event_fields *fields = find_fields(event, place);
  hit->group = group;
  hit->group_kind = fields ? group_kind_of(fields) : GROUP_NONE;
  return hit->value > LARGEST_VALUE ? COUNTER_LOST_UNCOUNTABLE : COUNTER_STORED;
}

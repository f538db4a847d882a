// SPDX-License-Identifier: GPL-2.0-only
// Records into the ring. A stack goes once, a sample every time; nobody is woken for either until there is much to read.
#pragma once
#include "scratch.bpf.h"
#include "settings.bpf.h"

// Looked at every 16th time: the ring is an eighth full when it wakes, and 16 samples are 1 KiB.
static __always_inline __u64 ring_wakeup(const struct event_counters *counts) {
  if (counts->counter[COUNTER_STORED] & 15) return BPF_RB_NO_WAKEUP;
  return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

// 0: user space has this stack, or will before the sample. `record` is followed by frame_count frames.
static __always_inline int send_stack_once(struct stack_record *record, __u32 side, __u64 hash, __u32 address_space,
                                           __u32 frame_count, __u32 max_frames) {
  __u32 slot = (__u32)(hash >> 20) & (STACK_TAGS - 1);
  __u64 *tag = bpf_map_lookup_elem(&stack_tags, &slot);
  if (tag && *tag == hash) return 0;
  if (frame_count > max_frames) frame_count = max_frames;
  record->kind = RECORD_STACK;
  record->frame_count = (__u16)frame_count;
  record->side = (__u8)side;
  record->padding = 0;
  record->hash = hash;
  record->address_space = address_space;
  record->padding2 = 0;
  if (bpf_ringbuf_output(&events, record, sizeof(*record) + 8 * (__u64)frame_count, BPF_RB_NO_WAKEUP)) return -1;
  if (tag) *tag = hash;
  count(COUNTER_STACK_RECORDS);
  return 0;
}

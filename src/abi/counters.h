// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Everything that can happen to a sample or to a map on the kernel side, counted per CPU. One list: BPF increments, the
// summary and --stats print the text.
//   X(name, class, text)   class: FIRED outcomes add up to fired; EVENT is information
#pragma once
#include "abi/base_types.h"

#define CICADA_COUNTERS(X)                                                                      \
  X(STORED, OUTCOME, "stored")                                                                  \
  X(IDLE, OUTCOME, "idle")                                                                      \
  X(FILTERED, OUTCOME, "not a target")                                                          \
  X(LOST_SAMPLE_RING_FULL, OUTCOME, "lost: ring buffer full (sample record)")                   \
  X(LOST_STACK_RING_FULL, OUTCOME, "lost: ring buffer full (stack record)")                     \
  X(LOST_NO_SCRATCH, OUTCOME, "lost: no scratch slot free")                                     \
  X(STACK_RECORDS, EVENT, "stack records sent")                                                 \
  X(RESCUE_SENT, EVENT, "stacks sent to user space to be finished")                             \
  X(RESCUE_LIMITED, EVENT, "stacks not sent: rescue budget used up")                            \
  X(RESCUE_RING_FULL, EVENT, "stacks not sent: ring buffer full")                               \
  X(FRAME_CACHE_HIT, EVENT, "frames answered by the frame cache")                               \
  X(FRAME_CACHE_MISS, EVENT, "frames looked up in mapping and table")                           \
  X(LIFECYCLE_RING_FULL, EVENT, "lifecycle events lost: ring buffer full")                      \
  X(PROCESS_TABLE_FULL, EVENT, "processes not tracked: table full")

enum counter {
#define X(name, cls, text) COUNTER_##name,
  CICADA_COUNTERS(X)
#undef X
  COUNTER_COUNT,
};

// The one value of the per-CPU array `counters`.
struct cpu_counters {
  __u64 period_sum;  // of the events that fired: with frequencies the kernel adapts the period
  __u64 counter[COUNTER_COUNT];
};

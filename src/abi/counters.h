// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What became of samples, and what happened to the maps, on the kernel side; counted per CPU and event. One list: BPF increments,
// the summary and --stats print the text.
//   X(name, class, text)   class: OUTCOME: each run of a sampling program is exactly one of these. NOTE: information
#pragma once
#include "abi/base_types.h"
#include "abi/event_cookie.h"

#define CICADA_COUNTERS(X)                                                                      \
  X(STORED, OUTCOME, "stored")                                                                  \
  X(IDLE, OUTCOME, "idle")                                                                      \
  X(FILTERED, OUTCOME, "not a target")                                                          \
  X(SHORT_WAIT, OUTCOME, "short waits that others stand for")                                   \
  X(OTHER_LENGTH, OUTCOME, "shorter than --min-wait or longer than --max-wait")                 \
  X(FILTERED_OUT, OUTCOME, "filtered out: a number of theirs is another")                       \
  X(SAMPLED_OUT, OUTCOME, "sampled out: others stand for them")                                 \
  X(LOST_SAMPLE_RING_FULL, OUTCOME, "lost: ring buffer full (sample record)")                   \
  X(LOST_STACK_RING_FULL, OUTCOME, "lost: ring buffer full (stack record)")                     \
  X(LOST_NO_SCRATCH, OUTCOME, "lost: no scratch slot free")                                     \
  X(LOST_WAIT_SKIPPED, OUTCOME, "lost: a wait that the kernel let nobody take")                 \
  X(LOST_UNREADABLE, OUTCOME, "lost: a field could not be read")                                \
  X(LOST_UNCOUNTABLE, OUTCOME, "lost: their value is negative, or too large")                   \
  X(LOST_NO_ROOM_FOR_CALL, OUTCOME, "lost: no room for another call under way")                 \
  X(NEVER_RETURNED, OUTCOME, "never returned: left by an exception, longjmp or a jump")         \
  X(CALLS_BEGUN, NOTE, "calls that began")                                                      \
  X(BEGIN_NOT_SEEN, NOTE, "returns of calls whose begin was not seen")                          \
  X(STACK_RECORDS, NOTE, "stack records sent")                                                  \
  X(UNWIND_REQUESTS, NOTE, "stacks sent to user space to be finished")                          \
  X(MAPPINGS_CHANGED, NOTE, "of these: mappings had changed since the walk learnt them")        \
  X(UNWIND_LIMITED, NOTE, "stacks not sent: deferred unwinding rate-limited")                   \
  X(UNWIND_RING_FULL, NOTE, "stacks not sent: ring buffer full")                                \
  X(FRAME_CACHE_HIT, NOTE, "frames answered by the frame cache")                                \
  X(FRAME_CACHE_MISS, NOTE, "frames looked up in mapping and table")                            \
  X(WAITED_NS, NOTE, "ns waited, by all waits")                                      \
  X(LOST_WAITED_NS, NOTE, "ns that the waits that were lost stand for")                         \
  X(WAITS_NOT_SEEN, NOTE, "waits not seen: no room for the thread")                             \
  X(WAKERS_IN_HASTE, NOTE, "wakers without a stack: more would have held up the machine")       \
  X(LIFECYCLE_RING_FULL, NOTE, "lifecycle events, or threads' times, lost: ring buffer full")   \
  X(PROCESS_TABLE_FULL, NOTE, "processes not tracked: table full")

enum counter {
#define X(name, cls, text) COUNTER_##name,
  CICADA_COUNTERS(X)
#undef X
  COUNTER_COUNT,
};

// Per-CPU array `counters`, by event (MAX_EVENTS); what belongs to no event is counted with the first.
struct event_counters {
  __u64 value_sum;  // of all runs, whatever became of them. Where the kernel adapts the period it tells the mean one
  __u64 counter[COUNTER_COUNT];
};

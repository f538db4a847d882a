// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// How a user stack ended. One list: the kernel writes the number, people read the text.
//   X(name, complete?, text)
#pragma once
#include "abi/base_types.h"

#define CICADA_END_REASONS(X)                                                                          \
  X(NONE, 0, "no user stack (kernel thread)")                                                          \
  X(OUTERMOST, 1, "outermost frame (undefined return address)")                                        \
  X(ZERO_RA, 1, "zero return address or frame pointer")                                                \
  X(DEPTH_LIMIT, 0, "depth limit")                                                                     \
  X(UNREADABLE, 0, "unreadable stack memory")                                                          \
  X(UNMAPPED_PC, 0, "address outside every known mapping")                                             \
  X(NO_TABLE, 0, "unwind table not loaded yet")                                                        \
  X(NO_RULE, 0, "no unwind rule for the address")                                                      \
  X(UNSUPPORTED_RULE, 0, "rule the kernel walk cannot follow")                                         \
  X(EXEC, 0, "exec in progress")                                                                       \
  X(UNKNOWN_PROCESS, 0, "process not known yet")                                                       \
  X(BAD_FRAME_POINTER, 0, "frame pointer leads nowhere")                                               \
  X(DEFERRED, 1, "finished in user space")                                                              \
  X(DEFERRED_FAILED, 0, "could not be finished in user space")                                          \
  X(STALE_MAPPING, 0, "other code was mapped there meanwhile")                                         \
  X(MAPPING_LATE, 0, "mappings were known too late")                                                   \
  X(MAPPINGS_CHANGED, 0, "mappings changed and not yet known to the walk")

enum end_reason {
#define X(name, complete, text) END_##name,
  CICADA_END_REASONS(X)
#undef X
  END_REASON_COUNT,
};

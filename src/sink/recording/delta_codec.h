// SPDX-License-Identifier: Apache-2.0
// The difference between two snapshots of one profile as bytes. A recording is such differences, one after the other; a view in another
// process is fed by the same bytes.
//
//   SnapshotSizes sent;                                        // of nothing
//   do { message.clear(); sent = append_delta(message, now, sent); send(message.bytes()); } while (sent != now.sizes());
//
//   MemoryBudget budget(1 << 30);
//   for (message) TRY(apply_delta(profile, message, budget));   // `profile` has the same rows and ids then, and is a Profile of its own
//
// The format is described in docs/formats/recording.md.
#pragma once
#include "base/result.h"
#include "profile/profile.h"
#include "sink/recording/column_io.h"

namespace cicada::sink {

// Appends what is in `now` and not in `before`, at most about kMaxDeltaRows rows of it, and returns what a reader has then; it has everything when
// that is now.sizes(). The header is always in it. `before` is of an earlier snapshot of the same profile, or nothing: of another lineage, the
// reader must begin with a new Profile as well.
// Samples that the profile dropped before they were written are left out.
profile::SnapshotSizes append_delta(ByteWriter& out, const profile::ProfileSnapshot& now, const profile::SnapshotSizes& before);

// Appends the rows to `profile`, which has had every difference before this one and nothing else. Believes nothing: whatever the bytes
// are, `profile` stays valid.
// Fails (kCorrupt) if they are malformed, do not continue this profile, or ask for more memory than `budget` has; rows before the
// first bad one are in `profile` then.
Result<void> apply_delta(profile::Profile& profile, Bytes delta, MemoryBudget& budget);

// Coding takes up to 140 bytes a row meanwhile; a file of ten million samples is no smaller with eight times as many.
inline constexpr size_t kMaxDeltaRows = 1 << 17, kMaxDeltaSamples = 1 << 16;
inline constexpr size_t kMaxDeltaTextBytes = 4 << 20;  // and one text
inline constexpr size_t kIndexBytes = 16;              // of what finds a row by its content, in memory
inline constexpr size_t kMaxTextBytes = 1 << 20;       // what is longer is cut

}  // namespace cicada::sink

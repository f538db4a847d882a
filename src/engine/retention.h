// SPDX-License-Identifier: Apache-2.0
// How much of a recording stays in memory: everything, the last of it, or what nobody has taken yet. A snapshot that somebody holds keeps its own
// rows, whatever happens here. What tables have that no sample refers to any more goes with a compaction (compactor.h).
#pragma once
#include <cstdint>
#include <optional>

#include "profile/profile.h"

namespace cicada::engine {

// Members that are set must all hold; none: everything is kept. Samples go in blocks of a few thousand, the oldest first; what a block
// is kept beyond the bound is at most its own length.
struct Retention {
  std::optional<uint64_t> keep_ns;       // samples of the last so many
  std::optional<size_t> keep_samples;
  // Of the profile. About: a quarter of the samples goes at a time while there is more, tables follow some seconds later, and while they are
  // compacted there are two of them.
  std::optional<size_t> keep_bytes;
};

// Drops what may go; false: nothing. `taken`: of samples with a lower number, nobody wants anything any more. Threads: the profile's.
bool apply_retention(profile::Profile& profile, const Retention& retention, uint64_t now_ns, uint64_t taken = 0);

}  // namespace cicada::engine

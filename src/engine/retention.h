// SPDX-License-Identifier: Apache-2.0
// How much of a recording stays in memory. A snapshot that somebody holds keeps its own rows, whatever happens here.
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
};

// Drops what may go; false: nothing. Threads: the profile's.
bool apply_retention(profile::Profile& profile, const Retention& retention, uint64_t now_ns);

}  // namespace cicada::engine

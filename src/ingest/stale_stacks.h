// SPDX-License-Identifier: Apache-2.0
// Stacks that were walked with code in mind that had been replaced (process/tracking/stale_mappings.h).
//
//   leaf  libc   libc   old:+0x120   old:+0x300   main          as walked
//   leaf  libc   libc   new:+0x120                              as kept
//
// Frames up to the first in replaced code are right: nothing before needed the wrong tables. That one is placed into what was there at the
// sample's time. Its callers were found with another library's tables: they are dropped, even where both happen to have the same layout.
#pragma once
#include <optional>
#include <span>

#include "process/tracking/stale_mappings.h"
#include "profile/profile.h"

namespace cicada::ingest {

class StackTable;

struct CorrectedStack {
  profile::StackId user;
  bool pending = false;  // what was there is still being opened: its frame is unknown so far
};

// `stale`: what had been replaced in the sample's process, and the walk did not know of (ProcessTable::find_stale). Nothing: no frame is in such
// code.
std::optional<CorrectedStack> correct_stale(StackTable& stacks, profile::Profile& profile, profile::StackId user,
                                               std::span<const process::StaleMapping> stale, uint32_t address_space);

}  // namespace cicada::ingest

// SPDX-License-Identifier: Apache-2.0
// How long threads that could run waited for a CPU: a histogram of those waits (`runnable`, `preempted`). Pure.
#pragma once
#include <string>

#include "profile/snapshot.h"

namespace cicada::cli {

// A row for each power of two of the length: how many waits and their time, with a bar for the time. A kept wait stands for those of its length that were not
// kept, so numbers of short waits are estimates. Empty if there was no such wait, or no lengths are known (recordings of other formats).
std::string format_run_queue(const profile::ProfileSnapshot& profile);

}  // namespace cicada::cli

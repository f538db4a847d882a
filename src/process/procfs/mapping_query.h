// SPDX-License-Identifier: Apache-2.0
// Asks the kernel for the executable mappings of a process alone (PROCMAP_QUERY, Linux 6.11). The text of /proc/PID/maps has a name for every
// mapping, and 60,000 names cost the kernel a quarter of a second. Source: include/uapi/linux/fs.h.
// Threads: any. Fails: kUnsupported (older kernel), kLimit, kIo. No entries: no memory any more.
#pragma once
#include "process/procfs/maps_file.h"

namespace cicada::process {

// `maps_fd`: an open /proc/PID/maps.
Result<MapsFile> query_executable_mappings(int maps_fd);

}  // namespace cicada::process

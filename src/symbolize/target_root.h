// SPDX-License-Identifier: Apache-2.0
// Files as a process sees them: opened below /proc/PID/root, with links resolved inside it.
#pragma once
#include <string>

#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::symbolize {

struct TargetIdentity {
  Pid pid_inside = 0;  // in its own pid namespace
  uint32_t uid = 0;    // effective, as we see it
};

// Fails: kGone, kPermission.
Result<TargetIdentity> load_target_identity(Pid pid, const std::string& proc = "/proc");
// A regular file owned by the target's user or root. `path` is absolute, as the process would write it.
// Fails: kNotFound, kPermission (owner), kInvalid (not a regular file), kUnsupported (kernel older than 5.6).
Result<UniqueFd> open_in_target(Pid pid, const std::string& path, uint32_t uid, const std::string& proc = "/proc");

}  // namespace cicada::symbolize

// SPDX-License-Identifier: Apache-2.0
// What a launched program is told so that its JIT-compiled code has names, and what it wrote because of that. It is told where the kernel
// guards the directory that it writes to, which is the run times' choice: /tmp.
#pragma once
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/process_key.h"
#include "cli/invoking_user.h"

namespace cicada::cli {

// "NAME=value" for this command, run by this user. Says so if the directory is not guarded, unless `quiet`.
std::vector<std::string> runtime_environment(const std::vector<std::string>& command, const InvokingUser& user, bool quiet);

// The perf maps and jitdumps of the processes that a command consists of.
class PerfMaps {
 public:
  // Threads: any.
  void note(Pid pid);
  // Removes those that were written since, by this user, for processes that have ended. No process writes one from now on: call it last.
  void remove(const InvokingUser& user, uint64_t since_realtime_ns);

 private:
  std::mutex mutex_;
  std::unordered_set<Pid> pids_;
};

}  // namespace cicada::cli

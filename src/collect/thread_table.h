// SPDX-License-Identifier: Apache-2.0
// Sampled threads -> threads and processes of the profile. A sample is stored at once under (pid, start, tid); what they are called
// is asked of the tracker once a collection cycle, so that the drain thread never waits for /proc.
// Threads: the drain thread's.
#pragma once
#include <unordered_map>
#include <vector>

#include "abi/records.h"
#include "profile/profile.h"

namespace cicada::process {
class ProcessTable;
class ThreadNames;
class ProcessMetadataCache;
}  // namespace cicada::process

namespace cicada::collect {

class ThreadTable {
 public:
  explicit ThreadTable(profile::Profile& profile) : profile_(profile) {}

  profile::ThreadId find_or_add(const sample_record& sample);
  // Fills in the names that are known by now; those that were filled are asked again for renames.
  void refresh(const process::ProcessTable& processes, const process::ThreadNames& names, process::ProcessMetadataCache& metadata);

 private:
  struct ProcessEntry {
    profile::ProcessId id;
    Pid pid;
    uint32_t start_ticks_low;
    bool described = false;  // command line and cgroup asked for
  };
  struct ThreadEntry {
    profile::ThreadId id;
    Tid tid;
    size_t process;
  };
  size_t process_of(const sample_record& sample);

  profile::Profile& profile_;
  std::vector<ProcessEntry> processes_;
  std::vector<ThreadEntry> threads_;
  std::unordered_map<uint64_t, size_t> process_index_;  // pid << 32 | start_ticks_low
  std::unordered_map<uint64_t, profile::ThreadId> thread_index_;  // process index << 32 | tid
};

}  // namespace cicada::collect

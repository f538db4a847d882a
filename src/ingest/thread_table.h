// SPDX-License-Identifier: Apache-2.0
// Sampled threads -> threads and processes of the profile. A sample is stored at once under (pid, start, tid); what they are called
// is asked of the tracker once a collection cycle; the MetadataReader reads /proc meanwhile, so that the drain thread never waits for
// it. Who is gone and has been described is not asked about again.
// Threads: the drain thread's.
#pragma once
#include <unordered_map>
#include <vector>

#include "abi/records.h"
#include "profile/row_copier.h"

namespace cicada::process {
class ProcessTable;
class ThreadNames;
class ProcessMetadataCache;
}  // namespace cicada::process

namespace cicada::ingest {

class MetadataReader;

class ThreadTable {
 public:
  ThreadTable(profile::Profile& profile, MetadataReader& metadata_reader) : profile_(profile), metadata_reader_(metadata_reader) {}

  profile::ThreadId find_or_add(const sample_record& sample);
  // Fills in the names that are known by now; those that were filled are asked again for renames. `known_until_ns`: how far the process
  // table has come; who is not in it and was first sampled before that is gone.
  void refresh(const process::ProcessTable& processes, const process::ThreadNames& names, const process::ProcessMetadataCache& metadata,
               uint64_t known_until_ns);
  // Of a thread that is sampled; of others nothing is kept.
  void add_cpu_time(const thread_time& thread);
  // Of each thread that is sampled, but of those that the kernel side does not follow.
  bool has_cpu_times() const;
  // Takes over the ids of a compacted profile. Who has no samples in it is added anew when it has.
  void rebase(profile::RowCopier& ids);

 private:
  struct ProcessEntry {
    profile::ProcessId id;
    Pid pid;
    SampledStart start;  // zero: a kernel thread's, which the kernel side does not track
    uint64_t seen_ns;    // its first sample
    bool described = false;  // command line and cgroup are in the profile
    uint8_t strikes = 0;     // refreshes that found nobody; kMaxStrikes: gone for good
  };
  void name_stranger(const sample_record& sample, profile::ThreadId thread, profile::ProcessId process);

  struct ThreadEntry {
    profile::ThreadId id;
    Tid tid;
    size_t process;
    uint64_t seen_ns;  // its first sample
  };
  static constexpr uint8_t kMaxStrikes = 3;
  // Null: it has no samples.
  const size_t* find_process(Pid pid, const SampledStart& start) const;
  size_t process_of(const sample_record& sample);
  void refresh(ProcessEntry& entry, const process::ProcessTable& processes, const process::ProcessMetadataCache& metadata, uint64_t known_until_ns);

  profile::Profile& profile_;
  MetadataReader& metadata_reader_;
  std::vector<ProcessEntry> processes_;
  std::vector<size_t> living_;        // processes that refresh() asks about
  std::vector<ThreadEntry> threads_;  // of those
  std::unordered_map<uint64_t, std::vector<size_t>> process_index_;  // pid << 32 | start in ticks: more than one if the pid was used again in it
  std::unordered_map<uint64_t, profile::ThreadId> thread_index_;  // process index << 32 | tid
};

}  // namespace cicada::ingest

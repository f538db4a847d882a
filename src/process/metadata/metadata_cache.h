// SPDX-License-Identifier: Apache-2.0
// Public API: what a process is, beyond its code: command line, directories, environment, namespaces, cgroup. Read when asked for,
// kept until exec, exit or lack of room.
//
// Every accessor proves that the pid is still the same process: the start time is read before and after the fact, and a value
// that straddles an exec or a reuse is thrown away. A process that has vanished gives what was read while it lived, until it is
// evicted one collection cycle after its exit; what was never read gives nothing, never another process' data.
// Printing or logging an entry shows counts, never a value of argv or environ.
// Threads: any. A read of /proc happens in the calling thread, without the lock; that of a command line or an environment can wait for the
// target's memory lock, unless somebody else reads them (Options).
// snapshot(), stats() and what is told (on_exec, on_exit, end_cycle) wait for nobody's.
#pragma once
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/process_key.h"
#include "base/result.h"

namespace cicada::process {

// A snapshot; only what was asked for so far is filled.
struct ProcessMetadata {
  ProcessKey key;
  std::optional<std::vector<std::string>> cmdline;
  std::optional<std::vector<std::string>> environ;  // "NAME=value", bounded
  std::optional<std::string> cwd, exe, cgroup;
  std::optional<uint64_t> mount_namespace, pid_namespace;  // inode numbers
};
std::ostream& operator<<(std::ostream& out, const ProcessMetadata& metadata);

struct MetadataStats {
  uint64_t hits = 0, misses = 0, evicted = 0, pruned = 0, refused = 0, invalidated = 0, vanished = 0;
  size_t entries = 0, bytes = 0;
};
std::ostream& operator<<(std::ostream& out, const MetadataStats& stats);

class ProcessMetadataCache {
 public:
  struct Options {
    size_t max_entries = 16384;
    size_t max_bytes = 32 << 20;        // of all values together
    size_t max_value_bytes = 128 << 10; // of one cmdline or environ; longer ones are cut at a whole string
    std::string proc = "/proc";
    std::function<Result<std::string>(const std::string& path, size_t max_bytes)> read_file = {};  // none: the kernel's
    // Command lines and environments; none: read_file.
    std::function<Result<std::string>(Pid pid, const std::string& path, size_t max_bytes, const std::stop_token& stop)> read_memory = {};
  };
  ProcessMetadataCache() : ProcessMetadataCache(Options{}) {}
  explicit ProcessMetadataCache(Options options);

  // All: nothing if the process is not (any more) the one `key` names, and the value was not read before. No command line nor environment
  // while an exec is under way, of kernel threads, or of a process that has emptied them: the next call looks again.
  std::optional<std::vector<std::string>> cmdline(ProcessKey key, const std::stop_token& stop = {});
  std::optional<std::string> cwd(ProcessKey key);
  std::optional<std::string> exe(ProcessKey key);
  std::optional<std::string> cgroup(ProcessKey key);  // of the unified hierarchy, else the first line's path
  std::optional<uint64_t> mount_namespace(ProcessKey key);
  std::optional<uint64_t> pid_namespace(ProcessKey key);
  std::optional<std::vector<std::string>> environ(ProcessKey key, const std::stop_token& stop = {});
  std::optional<std::string> environ_var(ProcessKey key, std::string_view name);
  // By pid alone: whoever has it now.
  std::optional<ProcessKey> find_key(Pid pid) const;
  std::optional<std::string> environ_var(Pid pid, std::string_view name);

  void on_exec(ProcessKey key);   // forgets what exec replaces: all but the namespaces, cwd and cgroup
  void on_exit(ProcessKey key);   // kept for late samples until the end of the next cycle
  void end_cycle();
  std::optional<ProcessMetadata> snapshot(ProcessKey key) const;  // reads nothing
  MetadataStats stats() const;

 private:
  struct Entry {
    ProcessMetadata metadata;
    size_t bytes = 0;
    uint64_t epoch = 0;           // bumped by exec: a read begun before it is not stored
    uint32_t exited_in_cycle = 0; // 0: alive as far as known
    std::list<ProcessKey>::iterator order;
  };
  struct KeyHash {
    size_t operator()(const ProcessKey& key) const {
      return std::hash<uint64_t>{}(static_cast<uint64_t>(static_cast<uint32_t>(key.pid)) << 32 ^ key.start_ticks * 0x9e3779b97f4a7c15ULL);
    }
  };
  template <typename T, typename Read>
  std::optional<T> value(ProcessKey key, std::optional<T> ProcessMetadata::*member, Read read);
  std::optional<std::vector<std::string>> strings(ProcessKey key, std::string_view file, const std::stop_token& stop) const;
  bool is_running(ProcessKey key) const { return find_key(key.pid) == key; }
  std::nullopt_t count_vanished();
  // Reads /proc, without the lock: who of the least recently used has ended, if there is no room for so much.
  void notice_dead(size_t entries, size_t bytes);
  // With the lock.
  bool has_room(size_t entries, size_t bytes) const { return entries_.size() + entries <= options_.max_entries && stats_.bytes + bytes <= options_.max_bytes; }
  Entry* find_or_insert(ProcessKey key);
  bool make_room(size_t entries, size_t bytes, ProcessKey keep);
  void erase(std::unordered_map<ProcessKey, Entry, KeyHash>::iterator at);
  std::string path(ProcessKey key, std::string_view file) const;

  Options options_;
  mutable std::mutex mutex_;
  std::unordered_map<ProcessKey, Entry, KeyHash> entries_;
  std::list<ProcessKey> recent_;  // most recently used first
  MetadataStats stats_;
  uint32_t cycle_ = 1;
};

}  // namespace cicada::process

// SPDX-License-Identifier: Apache-2.0
// What /proc says about processes, without trusting its contents: comm may hold blanks, parentheses and newlines.
// Threads: any. Fails: kGone (no such process any more), kPermission (hidepid), kIo.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_key.h"
#include "base/result.h"

namespace cicada::process {

struct ProcStat {
  Pid pid = 0;
  Pid parent_pid = 0;
  char state = '?';
  std::string comm;
  uint64_t start_ticks = 0;  // field 22
  bool kernel_thread = false;  // PF_KTHREAD
};

// Files under /proc have no size: reads until the end or `max_bytes`, whichever is first.
Result<std::string> read_proc_file(const std::string& path, size_t max_bytes);

std::optional<ProcStat> find_stat(std::string_view text);  // parses /proc/PID/stat
Result<ProcStat> read_stat(Pid pid);
// The numbers of a line of /proc/PID/status: "Uid" (real, effective, saved, of the file system), "Groups", "NSpid" (the innermost namespace
// last). Nothing: there is no such line.
std::optional<std::vector<uint32_t>> find_status_numbers(std::string_view status, std::string_view key);
// Is there a mount of this type and device in a /proc/PID/mountinfo?
bool has_mount(std::string_view mountinfo, std::string_view type, uint32_t major, uint32_t minor);
// A user who owns nothing, as far as we are concerned.
constexpr uint32_t kNobody = 65534;
// The effective user, whatever the process says of itself (one stat, 1 µs); kNobody where there is no such process any more.
uint32_t owner_of(Pid pid);
// The process that a thread belongs to.
Result<Pid> read_process_of(Tid tid);
inline uint64_t to_ticks(uint64_t start_ns) { return start_ns / kNsPerTick; }

Result<std::vector<Pid>> list_processes();
std::vector<Tid> list_threads(Pid pid);  // empty: gone
// Under whose number /proc shows the memory of the process: its own, or that of a living thread once the leader has called
// pthread_exit (/proc/PID/maps is empty then; /proc/TID/maps and map_files, which no listing shows, are not).
Tid thread_with_memory(Pid pid);

// What keeps this process from seeing others; nothing: all can be seen.
struct ProcVisibility {
  bool mounted = false;
  bool initial_pid_namespace = false;
  int hidepid = 0;            // mount option; 0: off
  bool others_visible = false;  // init's stat can be read
};
ProcVisibility proc_visibility();
int find_hidepid(std::string_view mountinfo);  // parses /proc/self/mountinfo

}  // namespace cicada::process

// SPDX-License-Identifier: Apache-2.0
#include "cli/running_process.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "process/procfs/proc_fs.h"

namespace cicada::cli {
namespace {

constexpr size_t kCommBytes = 15;  // the kernel cuts comm here

std::optional<Pid> find_number(std::string_view text) {
  Pid value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

bool has_name(Pid pid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string comm;
  std::getline(file, comm);
  if (!comm.empty() && comm == name.substr(0, kCommBytes) && (name.size() <= kCommBytes || comm.size() == kCommBytes))
    return true;
  std::error_code ignored;  // kernel threads and strangers' processes have no readable exe
  std::string exe = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), ignored).string();
  constexpr std::string_view kDeleted = " (deleted)";
  if (exe.ends_with(kDeleted)) exe.resize(exe.size() - kDeleted.size());
  return std::filesystem::path(exe).filename() == name;
}

Result<std::vector<Pid>> find_pid(Pid pid) {
  const auto stat = process::read_stat(pid);
  const auto leader = process::read_process_of(pid);
  if (!stat || !leader) {
    return make_error(ErrorKind::kGone,
                      "-p {}: no such process; `pgrep -a NAME` lists what runs, and -p takes names too", pid);
  }
  if (stat->state == 'Z' && process::thread_with_memory(pid) == pid) return make_error(ErrorKind::kGone, "-p {}: has exited and only waits for its parent", pid);
  if (*leader != pid) {
    return make_error(ErrorKind::kInvalid, "-p {}: is a thread of process {}; use -t {} or -p {}", pid, *leader, pid,
                      *leader);
  }
  return std::vector<Pid>{pid};
}

}  // namespace

Result<std::vector<Pid>> find_processes(std::string_view pid_or_name) {
  if (const std::optional<Pid> pid = find_number(pid_or_name)) return find_pid(*pid);
  std::vector<Pid> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::optional<Pid> pid = find_number(entry.path().filename().string());
    if (pid && *pid != ::getpid() && has_name(*pid, pid_or_name)) found.push_back(*pid);
  }
  if (found.empty()) {
    return make_error(ErrorKind::kNotFound, "-p {}: no running process has this name; `ps -A` lists what runs",
                      pid_or_name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<Pid>> with_descendants(std::vector<Pid> pids) {
  std::multimap<Pid, Pid> children;  // by parent
  for (const Pid pid : TRY(process::list_processes())) {
    const auto stat = process::read_stat(pid);
    if (stat && stat->state != 'Z' && pid != ::getpid()) children.emplace(stat->parent_pid, pid);
  }
  std::set<Pid> all(pids.begin(), pids.end());
  while (!pids.empty()) {
    const auto [first, last] = children.equal_range(pids.back());
    pids.pop_back();
    for (auto child = first; child != last; ++child) {
      if (all.insert(child->second).second) pids.push_back(child->second);
    }
  }
  return std::vector<Pid>(all.begin(), all.end());
}

Result<Tid> find_thread(std::string_view text) {
  const std::optional<Tid> tid = find_number(text);
  if (!tid) return make_error(ErrorKind::kInvalid, "-t {}: not a thread id; `ps -eLo pid,tid,comm` lists them", text);
  if (!process::read_process_of(*tid)) {
    return make_error(ErrorKind::kGone, "-t {}: no such thread; `ps -eLo pid,tid,comm` lists them", text);
  }
  return *tid;
}

}  // namespace cicada::cli

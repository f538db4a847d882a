// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/own_processes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "process/procfs/maps_file.h"
#include "process/procfs/proc_fs.h"

namespace cicada::bpf_source {
namespace {

std::string program_of(Pid pid) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  return size <= 0 ? std::string() : std::string(path.data(), static_cast<size_t>(size));
}

}  // namespace

std::vector<Pid> own_processes() {
  std::vector<Pid> own{static_cast<Pid>(::getpid())};
  const std::string program = program_of(own.front());
  const Result<std::vector<Pid>> all = process::list_processes();
  for (size_t before = 0; all && before != own.size();) {
    before = own.size();
    for (const Pid pid : *all) {
      if (std::find(own.begin(), own.end(), pid) != own.end()) continue;
      const Result<process::ProcStat> stat = process::read_stat(pid);
      if (stat && std::find(own.begin(), own.end(), stat->parent_pid) != own.end() && program_of(pid) == program) own.push_back(pid);
    }
  }
  return own;
}

std::set<std::string> own_files_of(Pid held) {
  std::set<std::string> paths;
  const Result<process::MapsFile> own = process::read_maps(static_cast<Pid>(::getpid()), process::MapsFilter::kExecutable), its = process::read_maps(held, process::MapsFilter::kExecutable);
  if (!own || !its) return paths;
  for (const process::MapsEntry& entry : own->entries) paths.insert(entry.path);
  // What it has mapped since then is elsewhere.
  for (const process::MapsEntry& entry : its->entries) {
    const bool is_copy = std::any_of(own->entries.begin(), own->entries.end(), [&](const process::MapsEntry& other) { return other.range.begin == entry.range.begin && other.path == entry.path; });
    if (!is_copy) paths.erase(entry.path);
  }
  return paths;
}

}  // namespace cicada::bpf_source

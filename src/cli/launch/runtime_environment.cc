// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/runtime_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "base/unique_fd.h"
#include "cli/terminal.h"
#include "symbolize/jit/jit_environment.h"

namespace cicada::cli {
namespace {

// Run times write to /tmp/perf-PID.map, whatever somebody else has put there. The kernel keeps them from following links; root is kept from
// files of others, too.
bool is_shared_directory_guarded(bool root) {
  const auto is_on = [](const char* setting) {
    int value = 0;
    return static_cast<bool>(std::ifstream(fmt::format("/proc/sys/fs/{}", setting)) >> value) && value > 0;
  };
  return is_on("protected_symlinks") && (!root || is_on("protected_regular"));
}

}  // namespace

std::vector<std::string> runtime_environment(const std::vector<std::string>& command, const InvokingUser& user, bool quiet) {
  const std::vector<std::string> environment = user.environment();
  std::string_view path = "/bin:/usr/bin";
  for (const std::string_view variable : environment) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  std::vector<std::string> variables = symbolize::jit_environment(command, environment, path);
  if (!variables.empty() && !is_shared_directory_guarded(user.uid() == 0)) {
    if (!quiet) print_note("the kernel does not guard files in /tmp (fs.protected_symlinks, fs.protected_regular): the command is not told to write the names of its code there");
    variables.clear();
  }
  return variables;
}

void PerfMaps::note(Pid pid) {
  const std::lock_guard lock(mutex_);
  pids_.insert(pid);
}

// The directory is sticky: a name in it that leads to a file of the user can have been put there by the user only.
void PerfMaps::remove(const InvokingUser& user, uint64_t since_realtime_ns) {
  const UniqueFd directory(::open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return;
  const std::lock_guard lock(mutex_);
  for (const Pid pid : pids_) {
    for (const std::string& name : {fmt::format("perf-{}.map", pid), fmt::format("jit-{}.dump", pid)}) {
      struct stat st {};
      if (::fstatat(directory.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const auto written = static_cast<uint64_t>(st.st_mtim.tv_sec);
      if (!S_ISREG(st.st_mode) || st.st_uid != user.uid() || written < since_realtime_ns / 1'000'000'000) continue;
      if (::kill(pid, 0) != 0 && errno == ESRCH) ::unlinkat(directory.get(), name.c_str(), 0);
    }
  }
}

}  // namespace cicada::cli

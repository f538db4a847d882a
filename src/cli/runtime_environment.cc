// SPDX-License-Identifier: Apache-2.0
#include "cli/runtime_environment.h"

#include <fmt/format.h>

#include <fstream>

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

std::vector<std::string> runtime_environment(const std::vector<std::string>& command, const InvokingUser& user) {
  const std::vector<std::string> environment = user.environment();
  std::string_view path = "/bin:/usr/bin";
  for (const std::string_view variable : environment) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  std::vector<std::string> variables = symbolize::jit_environment(command, environment, path);
  if (!variables.empty() && !is_shared_directory_guarded(user.uid() == 0)) {
    print_warning("the kernel does not guard files in /tmp (fs.protected_symlinks, fs.protected_regular): the command is not told to write the names of its code there");
    variables.clear();
  }
  return variables;
}

}  // namespace cicada::cli

// SPDX-License-Identifier: Apache-2.0
#include "top/command_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace cicada::top {

Result<CommandTerminal> open_command_terminal(const cli::InvokingUser& user) {
  CommandTerminal terminal;
  terminal.viewer.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> name{};
  if (!terminal.viewer || ::grantpt(terminal.viewer.get()) != 0 || ::unlockpt(terminal.viewer.get()) != 0 || ::ptsname_r(terminal.viewer.get(), name.data(), name.size()) != 0)
    return errno_error(errno, "a terminal for the command");
  terminal.command.reset(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.command || ::fchown(terminal.command.get(), user.uid(), static_cast<gid_t>(-1)) != 0) return errno_error(errno, fmt::format("a terminal for the command: {}", name.data()));
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(terminal.command.get(), TIOCSWINSZ, &size);
  return terminal;
}

}  // namespace cicada::top

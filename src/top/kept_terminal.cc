// SPDX-License-Identifier: Apache-2.0
#include "top/kept_terminal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "top/screen.h"

namespace cicada::top {
namespace {

// The mouse, colours, the cursor, the other screen: xterm's, which all have learnt. Others ignore them.
constexpr std::string_view kLeave = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l\r";

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody to tell
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Result<KeptTerminal> KeptTerminal::keep() {
  KeptTerminal kept;
  TRY(check_terminal());
  if (::tcgetattr(STDIN_FILENO, &kept.modes_) != 0) return errno_error(errno, "the terminal's modes");
  return kept;
}

void KeptTerminal::hold_messages() {
  if (::isatty(STDERR_FILENO) == 0) return;
  messages_.reset(::memfd_create("cicada-messages", MFD_CLOEXEC));
  if (!messages_) return;
  standard_error_.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!standard_error_ || ::dup2(messages_.get(), STDERR_FILENO) < 0) messages_.reset();
}

void KeptTerminal::give_back(bool by_signal) {
  // In the background, where nobody looks, this would stop us.
  const auto before = ::signal(SIGTTOU, SIG_IGN);
  if (by_signal) write_all(STDOUT_FILENO, kLeave);
  while (::tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_) != 0 && errno == EINTR) continue;
  ::signal(SIGTTOU, before);
  if (!messages_) return;
  ::dup2(standard_error_.get(), STDERR_FILENO);
  standard_error_.reset();
  std::array<char, 1 << 14> block;
  ssize_t size;
  for (off_t at = 0; (size = ::pread(messages_.get(), block.data(), block.size(), at)) > 0; at += size) write_all(STDERR_FILENO, {block.data(), static_cast<size_t>(size)});
  messages_.reset();
}

}  // namespace cicada::top

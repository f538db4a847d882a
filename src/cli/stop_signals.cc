// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <sys/signalfd.h>

#include <cerrno>

namespace cicada::cli {

sigset_t StopSignals::blocked() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&set, signal);
  return set;
}

Result<StopSignals> StopSignals::open() {
  sigset_t set = blocked();
  struct sigaction hangup = {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN) ::sigdelset(&set, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::sigdelset(&set, SIGPIPE);
  StopSignals signals;
  signals.fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.fd_) return errno_error(errno, "signalfd");
  return signals;
}

std::optional<int> StopSignals::take() {
  signalfd_siginfo info = {};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void StopSignals::let_through() {
  while (take()) continue;  // what has arrived was meant for the recording
  sigset_t set = blocked();
  ::sigdelset(&set, SIGPIPE);
  // A background job of a script starts with SIGINT ignored; whoever sends one then means it.
  ::signal(SIGINT, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace cicada::cli

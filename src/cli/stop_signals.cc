// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace cicada::cli {
namespace {

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};

// More of the same, until its time is over.
void take_again(const sigset_t& awaited) {
  const auto end = std::chrono::steady_clock::now() + StopSignals::kSame;
  for (;;) {
    const std::chrono::nanoseconds left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return;
    const timespec time{0, left.count()};  // less than a second
    ::sigtimedwait(&awaited, nullptr, &time);
  }
}

// What is not `awaited` is ignored, and stays so.
void restore_defaults(const sigset_t& awaited) {
  for (const int signal : kStopSignals)
    if (::sigismember(&awaited, signal) == 1) ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &awaited, nullptr);
}

}  // namespace

sigset_t StopSignals::blocked() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kStopSignals) ::sigaddset(&set, signal);
  ::sigaddset(&set, SIGPIPE);
  return set;
}

Result<StopSignals> StopSignals::open() {
  StopSignals signals;
  sigset_t set = blocked();
  struct sigaction hangup = {};
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN) ::sigdelset(&set, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::sigdelset(&set, SIGPIPE);
  signals.state_->awaited = set;
  signals.state_->arrived.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals.state_->arrived) return errno_error(errno, "eventfd");
  return signals;
}

void StopSignals::watch() const {
  std::thread([state = state_] {
    ::prctl(PR_SET_NAME, "cicada-signals");
    int first = 0;
    while ((first = ::sigwaitinfo(&state->awaited, nullptr)) < 0) continue;
    state->first = first;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(state->arrived.get(), &one, sizeof one);
    take_again(state->awaited);
    restore_defaults(state->awaited);
    while (true) ::pause();
  }).detach();
}

std::optional<int> StopSignals::take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(state_->arrived.get(), &count, sizeof count);
  const int first = state_->first.exchange(0);
  return first == 0 ? std::nullopt : std::optional(first);
}

void StopSignals::let_through() {
  take();  // what has arrived was meant for the recording
  // A background job of a script starts with SIGINT ignored; whoever sends one then means it.
  restore_defaults(state_->awaited);
}

}  // namespace cicada::cli

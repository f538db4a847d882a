// SPDX-License-Identifier: Apache-2.0
#include "top/viewer_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

namespace cicada::top {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDraws = 10;  // a second, of updates
constexpr auto kBetweenDraws = std::chrono::milliseconds(1000 / kDraws);

int end_fd = -1;  // of signal handlers

class Loop {
 public:
  Loop(Screen& screen, App& app, Updates& updates, Backgrounds backgrounds, int ended, int command)
      : screen_(screen), app_(app), updates_(updates), backgrounds_(backgrounds), ended_(ended), command_(command) {}

  void run() {
    tell_size();
    for (draw(); poll();) {
      if (!take_keys()) return;
      if (is_ready(kUpdates)) {
        if (auto update = updates_.take()) app_.update(std::move(update->profile), std::move(update->state)), stale_ = true;
      }
      if (is_ready(kReads)) take_ends(backgrounds_.reads);
      if (is_ready(kTrees)) take_ends(backgrounds_.trees);
      if (is_ready(kCommand)) read_output();
      if (pressed_ || (stale_ && Clock::now() >= drawn_ + kBetweenDraws)) draw();
    }
  }

 private:
  enum Source { kEnded, kKeys, kUpdates, kReads, kTrees, kCommand };

  // False: it is over.
  bool poll() {
    polled_ = {pollfd{ended_, POLLIN, 0}, pollfd{screen_.fd(), POLLIN, 0}, pollfd{updates_.fd(), POLLIN, 0}, pollfd{backgrounds_.reads.fd(), POLLIN, 0}, pollfd{backgrounds_.trees.fd(), POLLIN, 0}, pollfd{command_, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(drawn_ + kBetweenDraws - Clock::now()).count();
    const int ready = ::poll(polled_.data(), polled_.size(), stale_ ? static_cast<int>(std::max<int64_t>(left, 0)) : -1);
    if (ready < 0) return errno == EINTR && (polled_ = {}, true);
    return !is_ready(kEnded);
  }
  bool is_ready(Source source) const { return polled_[source].revents != 0; }

  // False: the reader leaves. Without a poll, too: a resize may come as a signal.
  bool take_keys() {
    const bool gone = (polled_[kKeys].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    bool any = false;
    std::optional<Input> dragged;  // where to is known with the last one
    for (;;) {
      const std::optional<Input> input = screen_.next();
      if (dragged && (!input || input->kind != Input::Kind::kDrag)) app_.press(*std::exchange(dragged, std::nullopt));
      if (!input) break;
      any = true;
      if (input->kind == Input::Kind::kDrag) {
        dragged = input;
        continue;
      }
      if (input->kind == Input::Kind::kInterrupt) return false;
      if (input->kind == Input::Kind::kResize) tell_size();
      if (!app_.press(*input)) return false;
    }
    pressed_ = pressed_ || any;
    return any || !gone;
  }

  void take_ends(Background& background) {
    for (const Background::End& end : background.take()) {
      end(app_);
      pressed_ = true;
    }
  }

  void read_output() {
    std::array<char, 1 << 14> piece;
    const ssize_t got = ::read(command_, piece.data(), piece.size());
    if (got > 0) {
      app_.add_output({piece.data(), static_cast<size_t>(got)});
      stale_ = true;
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      command_ = -1;  // EIO: nobody has it open on the other side any more
    }
  }

  void tell_size() const {
    winsize size{};
    size.ws_col = static_cast<unsigned short>(screen_.width());
    size.ws_row = static_cast<unsigned short>(screen_.height());
    if (command_ >= 0) ::ioctl(command_, TIOCSWINSZ, &size);
  }

  void draw() {
    Grid grid(screen_.width(), screen_.height());
    app_.draw(grid, screen_.has_colours());
    screen_.show(grid);
    drawn_ = Clock::now();
    stale_ = pressed_ = false;
  }

  Screen& screen_;
  App& app_;
  Updates& updates_;
  const Backgrounds backgrounds_;
  const int ended_;
  int command_;
  std::array<pollfd, 6> polled_{};
  Clock::time_point drawn_{};
  bool stale_ = false, pressed_ = false;  // the picture shows less than there is; something was pressed since
};

}  // namespace

Result<std::unique_ptr<Updates>> Updates::open() {
  UniqueFd arrived(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!arrived) return errno_error(errno, "eventfd");
  return std::unique_ptr<Updates>(new Updates(std::move(arrived)));
}

void Updates::put(Update update) {
  const std::lock_guard lock(mutex_);
  newest_ = std::move(update);
  ::eventfd_write(arrived_.get(), 1);
}

std::optional<Update> Updates::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t ignored;
  static_cast<void>(::eventfd_read(arrived_.get(), &ignored));
  return std::exchange(newest_, std::nullopt);
}

Result<UniqueFd> catch_end_signals() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return errno_error(errno, "eventfd");
  end_fd = fd.get();
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int kept = errno;
    ::eventfd_write(end_fd, 1);
    errno = kept;
  };
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  return fd;
}

void run_viewer(Screen& screen, App& app, Updates& updates, Backgrounds backgrounds, int ended, int command) { Loop(screen, app, updates, backgrounds, ended, command).run(); }

}  // namespace cicada::top

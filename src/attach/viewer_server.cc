// SPDX-License-Identifier: Apache-2.0
#include "attach/viewer_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <list>
#include <string_view>
#include <vector>

#include "base/catching.h"
#include "base/diagnostics.h"
#include "sink/recording/recording_encoder.h"

namespace cicada::attach {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLevel = 3;   // of zstd
constexpr int kNice = 5;    // who looks does not matter as much as what is looked at

using Snapshot = std::shared_ptr<const profile::ProfileSnapshot>;

struct Viewer {
  UniqueFd socket = {};
  Clock::time_point due = {};       // the next look; before its line: until when it may be silent
  Clock::time_point progress = {};  // when it read last
  std::string line = {};
  bool asked = false, follows = false, ended = false;  // ended: closed once all is sent
  bool silent = false;                                 // says nothing more
  // What is sent is newer than the question.
  Clock::time_point looked = {};  // since when a newer one than this is waited for; 0: it is not
  std::weak_ptr<const profile::ProfileSnapshot> seen = {};
  Snapshot shown = {};  // of which something is to be sent still
  bool is_last = false;  // nothing comes after that
  sink::RecordingEncoder encoder = {};
  std::string bytes = {};  // to be sent
  size_t sent = 0;

  bool waits() const { return sent < bytes.size(); }
  // Null: not yet.
  Snapshot newer(const ViewerServer::TakeSnapshot& take, bool last);
};

Snapshot Viewer::newer(const ViewerServer::TakeSnapshot& take, bool last) {
  const auto time = Clock::now();
  Snapshot now = take();
  if (looked == Clock::time_point()) {
    looked = time;
    seen = now;
  }
  const bool has_more = now != seen.lock() && !(follows && now->sample_count() == 0);  // who follows is shown the first samples as they come
  if (!has_more && !last && time < looked + ViewerServer::kFreshest) {
    due = time + ViewerServer::kAgain;
    return nullptr;
  }
  looked = {};
  return now;
}

}  // namespace

struct ViewerServer::State {
  std::unique_ptr<ViewerSocket> socket;
  uid_t user;
  TakeSnapshot snapshot;
  Controls controls;
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> finishing = false;
  std::chrono::milliseconds end_timeout = kEndTimeout;  // written before `finishing`

  int listening() const { return socket ? socket->fd() : -1; }

  // The thread's.
  std::list<Viewer> viewers = {};
  Clock::time_point accepts_again = {};  // not before

  void run(const std::stop_token& stop);
  void accept_one();
  bool receive(Viewer& viewer);
  bool take_line(Viewer& viewer, std::string_view line);
  bool control(std::string_view line);
  void refuse(Viewer& viewer, std::string_view why);
  void make_next(Viewer& viewer);
  bool send(Viewer& viewer);
  bool serve(Viewer& viewer, short events);
  Clock::time_point next_deadline() const;
};

void ViewerServer::State::refuse(Viewer& viewer, std::string_view why) {
  viewer.bytes = fmt::format("cicada: {}\n", why);
  viewer.asked = viewer.ended = true;
}

// One a turn: who has gone is seen before who came after him.
void ViewerServer::State::accept_one() {
  UniqueFd accepted(::accept4(listening(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const auto now = Clock::now();
  if (!accepted && errno != EAGAIN) accepts_again = now + kPeriod;  // no descriptor is left, say
  if (!accepted) return;
  viewers.push_back({.socket = std::move(accepted), .due = now + kLineTimeout, .progress = now});
  Viewer& viewer = viewers.back();
  if (const Result<void> known = check_peer(viewer.socket.get(), user); !known)
    refuse(viewer, known.error().message());
  else if (viewers.size() > kMaxViewers)
    refuse(viewer, fmt::format("{} look at this recording already", kMaxViewers));
  else
    return;
  send(viewer);  // or it is not told
  viewers.pop_back();
}

// False: it is gone, or says too much.
bool ViewerServer::State::receive(Viewer& viewer) {
  char text[128];
  const ssize_t got = ::recv(viewer.socket.get(), text, sizeof text, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return viewer.silent = true, viewer.asked;
  viewer.line.append(text, static_cast<size_t>(got));
  for (size_t end; (end = viewer.line.find('\n')) != std::string::npos; viewer.line.erase(0, end + 1))
    if (!take_line(viewer, std::string_view(viewer.line).substr(0, end))) return false;
  return viewer.line.size() < kMaxLine;
}

bool ViewerServer::State::take_line(Viewer& viewer, std::string_view line) {
  if (viewer.asked && viewer.follows) return control(line);
  if (viewer.asked) return viewer.ended;  // it was refused, and will see it
  viewer.asked = true;
  viewer.follows = line == kFollow;
  viewer.due = Clock::now();
  if (!viewer.follows && line != kOnce) refuse(viewer, fmt::format("this recorder understands \"{}\" and \"{}\"", kOnce, kFollow));
  return true;
}

// All viewers see at once what has become of it.
bool ViewerServer::State::control(std::string_view line) {
  if (!controls.take || !controls.take(line)) return false;
  for (Viewer& viewer : viewers)
    if (viewer.asked) viewer.due = Clock::now();
  return true;
}

// One difference at most.
void ViewerServer::State::make_next(Viewer& viewer) {
  if (!viewer.shown) {
    viewer.is_last = finishing;
    viewer.shown = viewer.newer(snapshot, viewer.is_last);
  }
  if (!viewer.shown) return;
  viewer.bytes.clear();
  viewer.sent = 0;
  if (!viewer.encoder.append(viewer.bytes, *viewer.shown, kLevel)) return;
  viewer.encoder.append_moment(viewer.bytes, controls.moment ? controls.moment() : sink::Moment(), kLevel);
  viewer.due = Clock::now() + kPeriod;
  viewer.shown.reset();
  if (viewer.follows && !viewer.is_last) return;
  viewer.encoder.append_end(viewer.bytes, kLevel);
  viewer.ended = true;
}

// False: it is gone.
bool ViewerServer::State::send(Viewer& viewer) {
  while (viewer.waits()) {
    const ssize_t sent = ::send(viewer.socket.get(), viewer.bytes.data() + viewer.sent, viewer.bytes.size() - viewer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    viewer.sent += static_cast<size_t>(sent);
    viewer.progress = Clock::now();
  }
  return true;
}

// False: it has all it can have, or is gone.
bool ViewerServer::State::serve(Viewer& viewer, short events) {
  if ((events & (POLLHUP | POLLERR)) != 0 || ((events & POLLIN) != 0 && !receive(viewer))) return false;
  const auto now = Clock::now();
  if (!viewer.asked) return now < viewer.due && !finishing;
  if (!send(viewer)) return false;
  if (viewer.waits()) return now < viewer.progress + kStuck;
  if (viewer.ended) return false;
  if (now >= viewer.due || finishing || viewer.shown) {
    make_next(viewer);
    viewer.progress = now;
    return send(viewer) && (viewer.waits() || !viewer.ended);
  }
  return true;
}

Clock::time_point ViewerServer::State::next_deadline() const {
  auto next = Clock::now() < accepts_again ? accepts_again : Clock::now() + std::chrono::seconds(60);
  for (const Viewer& viewer : viewers) next = std::min(next, viewer.waits() ? viewer.progress + kStuck : viewer.shown ? Clock::now() : viewer.due);
  return next;
}

void ViewerServer::State::run(const std::stop_token& stop) {
  ::prctl(PR_SET_NAME, "cicada-viewers");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), ::getpriority(PRIO_PROCESS, 0) + kNice);
  std::vector<pollfd> polled;
  auto end = Clock::time_point::max();
  while (!stop.stop_requested()) {
    if (finishing && end == Clock::time_point::max()) end = Clock::now() + end_timeout;
    if (finishing && (viewers.empty() || Clock::now() >= end)) return;
    polled.assign({{wake.get(), POLLIN, 0}, {listening(), static_cast<short>(finishing || Clock::now() < accepts_again ? 0 : POLLIN), 0}});
    for (const Viewer& viewer : viewers)
      polled.push_back({viewer.socket.get(), static_cast<short>((viewer.silent ? 0 : POLLIN) | (viewer.waits() ? POLLOUT : 0)), 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(next_deadline(), end) - Clock::now()).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left, 0))) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) {
      uint64_t ignored;
      static_cast<void>(::read(wake.get(), &ignored, sizeof ignored) == sizeof ignored);
    }
    size_t i = 2;
    for (auto at = viewers.begin(); at != viewers.end() && !stop.stop_requested() && Clock::now() < end; ++i)
      at = serve(*at, polled[i].revents) ? std::next(at) : viewers.erase(at);
    if (polled[1].revents != 0) accept_one();
  }
}

Result<std::unique_ptr<ViewerServer>> ViewerServer::start(std::unique_ptr<ViewerSocket> socket, uid_t user, TakeSnapshot snapshot, Controls controls, UniqueFd first) {
  std::unique_ptr<State> state(new State{.socket = std::move(socket), .user = user, .snapshot = std::move(snapshot), .controls = std::move(controls)});
  if (!state->wake) return errno_error(errno, "an eventfd");
  const auto now = Clock::now();
  if (first) state->viewers.push_back({.socket = std::move(first), .due = now, .progress = now, .asked = true, .follows = true});
  std::unique_ptr<ViewerServer> server(new ViewerServer(std::move(state)));
  return catching("the thread that serves viewers", [&]() -> Result<std::unique_ptr<ViewerServer>> {
    server->thread_ = std::jthread([state = server->state_.get()](const std::stop_token& stop) {
      const Result<void> ran = catching("viewers", [&] { return state->run(stop), Result<void>(); });
      state->viewers.clear();
      if (!ran) diagnostics().warn("viewers", "{}; nobody is shown this recording any more", ran.error().message());
    });
    return std::move(server);
  });
}

ViewerServer::ViewerServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ViewerServer::~ViewerServer() {
  thread_.request_stop();
  static_cast<void>(::eventfd_write(state_->wake.get(), 1));
}

void ViewerServer::finish(std::chrono::milliseconds at_most) {
  state_->end_timeout = at_most;
  state_->finishing = true;
  static_cast<void>(::eventfd_write(state_->wake.get(), 1));
  if (thread_.joinable()) thread_.join();
}

}  // namespace cicada::attach

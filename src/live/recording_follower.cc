// SPDX-License-Identifier: Apache-2.0
#include "live/recording_follower.h"

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "attach/viewer_socket.h"
#include "base/catching.h"
#include "base/clean_text.h"
#include "sink/recording/recording_decoder.h"

namespace cicada::live {
namespace {

constexpr auto kFirstTimeout = std::chrono::seconds(10);
constexpr size_t kPiece = 1 << 20, kMaxRefusal = 200;
constexpr unsigned kMomentsUntilTrim = 3;  // until everybody who looks has let go of a profile that was made anew

}  // namespace

struct RecordingFollower::State {
  UniqueFd socket;
  std::string name;
  engine::Retention retention;
  Show show;
  sink::RecordingDecoder decoder{name};
  std::vector<uint8_t> piece = std::vector<uint8_t>(kPiece);
  uint64_t published = 0;  // moments
  uint64_t lineage = 0;
  unsigned until_trim = 0;
  std::string head = {};   // what came first: a refusal is text

  // The bytes that came; 0: the end. Fails: kLimit (`timeout` is over).
  Result<size_t> receive(int timeout_ms) {
    for (;;) {
      pollfd polled{socket.get(), POLLIN, 0};
      const int ready = ::poll(&polled, 1, timeout_ms);
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) return make_error(ErrorKind::kLimit, "{}: no answer; is it stopped?", name);
      const ssize_t got = ::recv(socket.get(), piece.data(), piece.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == ECONNRESET) return size_t{0};
      if (got < 0) return errno_error(errno, fmt::format("read {}", name));
      return static_cast<size_t>(got);
    }
  }

  Result<void> begin(bool may_be_silent) {
    const auto deadline = std::chrono::steady_clock::now() + kFirstTimeout;
    while (!decoder.begun()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
      const size_t got = TRY(receive(may_be_silent ? static_cast<int>(std::max<int64_t>(left, 0)) : -1));
      if (head.size() < kMaxRefusal) head.append(reinterpret_cast<const char*>(piece.data()), std::min(got, kMaxRefusal - head.size()));
      if (got == 0) return make_error(ErrorKind::kGone, "{}: it ended before it said anything", name);
      const Result<void> pushed = decoder.push({piece.data(), got});
      if (pushed) continue;
      if (pushed.error().kind() == ErrorKind::kInvalid && !head.starts_with('\x89')) return make_error(ErrorKind::kInvalid, "{} says: {}", name, clean_text(head.substr(0, head.find('\n'))));
      return pushed.error();
    }
    if (decoder.moments() != 0) publish("");
    return {};
  }

  // Nothing in between: a moment may take several chunks, and after a compaction all of them.
  void publish(std::string ended) {
    published = decoder.moments();
    profile::Profile& profile = decoder.profile();
    if (profile.sample_count() != 0) engine::apply_retention(profile, retention, profile.samples().time_ns[profile.sample_count() - 1]);
    show(std::make_shared<const profile::ProfileSnapshot>(profile), {.ended = std::move(ended), .moment = decoder.moment(), .controls = true});
    const uint64_t now = profile.sizes().lineage;
    if (std::exchange(lineage, now) != now) until_trim = kMomentsUntilTrim;
    else if (until_trim != 0 && --until_trim == 0) ::malloc_trim(0);  // the old one was in the heaps of several threads, which would keep it
  }

  // Why nothing comes any more.
  std::string read_on(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Result<size_t> got = receive(-1);
      if (!got) return got.error().message();
      if (*got == 0) return decoder.ended() ? "the recording has ended" : "the recorder has gone";
      if (const Result<void> pushed = decoder.push({piece.data(), *got}); !pushed) return pushed.error().message();
      if (decoder.ended()) return "the recording has ended";
      if (decoder.moments() != published) publish("");
    }
    return "";
  }
};

Result<std::unique_ptr<RecordingFollower>> RecordingFollower::start(UniqueFd socket, std::string name, engine::Retention retention, bool may_be_silent, Show show) {
  auto state = std::unique_ptr<State>(new State{.socket = std::move(socket), .name = std::move(name), .retention = retention, .show = std::move(show)});
  TRY(state->begin(may_be_silent));
  std::unique_ptr<RecordingFollower> follower(new RecordingFollower(std::move(state)));
  return catching("the thread that reads a recording", [&]() -> Result<std::unique_ptr<RecordingFollower>> {
    follower->thread_ = std::jthread([state = follower->state_.get()](const std::stop_token& stop) {
      ::prctl(PR_SET_NAME, "cicada-follows");
      std::string ended;
      const Result<void> ran = catching(state->name, [&] { return ended = state->read_on(stop), Result<void>(); });
      if (!ran) ended = ran.error().message();
      if (!ended.empty()) static_cast<void>(catching(state->name, [&] { return state->publish(ended), Result<void>(); }));
    });
    return std::move(follower);
  });
}

Result<void> RecordingFollower::control(std::string_view line) {
  const std::string whole = fmt::format("{}\n", line);
  if (whole.size() > attach::kMaxLine || whole.find_first_of("\n\r") != line.size()) return make_error(ErrorKind::kInvalid, "a line of at most {} letters can be said, and no more", attach::kMaxLine - 1);
  if (::send(state_->socket.get(), whole.data(), whole.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(whole.size())) return {};
  return make_error(ErrorKind::kGone, "{}: it does not listen any more", state_->name);
}

RecordingFollower::RecordingFollower(std::unique_ptr<State> state) : state_(std::move(state)) {}

RecordingFollower::~RecordingFollower() {
  thread_.request_stop();
  ::shutdown(state_->socket.get(), SHUT_RDWR);
}

}  // namespace cicada::live

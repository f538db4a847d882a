// SPDX-License-Identifier: Apache-2.0
#include "benchmark/protocol_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/monotonic_clock.h"

namespace cicada::benchmark {
namespace {

constexpr uint64_t kMaxVersion = 2;
constexpr int kPingMs = 5;                          // that two words which may be a ping wait for a third
constexpr uint64_t kPatienceNs = 1'000'000'000;     // clients wait as long for an answer
constexpr uint64_t kMaxAnnouncedBytes = 64 << 20;   // of URIs and markers; a client without end
constexpr uint64_t kMaxOpen = 256;                  // windows at a time

Announcement::Kind kind_of(Marker marker) { return marker == Marker::kRoundStart ? Announcement::Kind::kRoundStart : Announcement::Kind::kRoundEnd; }

}  // namespace

Result<std::unique_ptr<ProtocolServer>> ProtocolServer::start(FifoPair& fifos, ServerHost host) {
  std::unique_ptr<ProtocolServer> server(new ProtocolServer(fifos, std::move(host)));
  server->stop_.reset(::eventfd(0, EFD_CLOEXEC));
  server->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  // Edges: an end of file (no client has the FIFO open) is told once, not for ever.
  epoll_event control{.events = EPOLLIN | EPOLLET, .data = {.fd = fifos.control()}}, stop{.events = EPOLLIN, .data = {.fd = server->stop_.get()}};
  if (!server->stop_ || !server->epoll_ || ::epoll_ctl(server->epoll_.get(), EPOLL_CTL_ADD, fifos.control(), &control) != 0 ||
      ::epoll_ctl(server->epoll_.get(), EPOLL_CTL_ADD, server->stop_.get(), &stop) != 0)
    return errno_error(errno, "listen for benchmarks");
  server->drain_answers();
  server->counts_ = {};
  server->thread_ = std::thread([raw = server.get()] { raw->run(); });
  return server;
}

ProtocolServer::~ProtocolServer() { stop(); }

void ProtocolServer::stop() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
  read_all();
  counts_.mixed = decoder_.mixed();
  counts_.skipped_bytes = decoder_.skipped();
}

void ProtocolServer::run() {
  ::prctl(PR_SET_NAME, "cicada-bench");
  for (;;) {
    epoll_event ready[2];
    const bool waiting = decoder_.is_waiting();
    const int count = ::epoll_wait(epoll_.get(), ready, 2, waiting ? kPingMs : 1000);
    if (std::any_of(ready, ready + std::max(count, 0), [&](const epoll_event& event) { return event.data.fd == stop_.get(); })) return;
    if (count > 0) read_all();
    if (count == 0 && waiting) decode(true);
    const uint64_t now = monotonic_ns();
    if (decoder_.is_waiting() && now - heard_ns_ > kPatienceNs) {
      decoder_.discard();
      warn_once("a client's message was never finished; it was dropped");
    }
    if (now - answered_ns_ > kPatienceNs) drain_answers();
  }
}

void ProtocolServer::read_all() {
  for (;;) {
    uint8_t bytes[16 << 10];
    const ssize_t got = ::read(fifos_.control(), bytes, sizeof bytes);
    if (got > 0) {
      anybody_ = true;
      heard_ns_ = monotonic_ns();
      decoder_.append({bytes, static_cast<size_t>(got)});
      decode(false);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 && anybody_) {  // all clients have gone, and with them the second halves of their messages
      anybody_ = false;
      decode(true);
      if (decoder_.is_waiting()) decoder_.discard();
      drain_answers();
      said_.push_back({.kind = Announcement::Kind::kNobody, .time_ns = monotonic_ns()});
      nobody_since_ = true;
    }
    return;
  }
}

void ProtocolServer::decode(bool quiet) {
  while (const auto item = decoder_.next(quiet)) {
    if (item->frame) {
      take(*item->frame);
      continue;
    }
    ++counts_.errors;
    warn_once("a message that is none of the protocol's, or messages of several clients beyond repair: skipped");
    answer(kErrBytes);
  }
}

void ProtocolServer::take(const Frame& frame) {
  ++counts_.frames;
  if (unread_bytes() != 0) ++counts_.simultaneous;
  const std::string_view bytes = answer_to(frame);
  if (bytes == kErrBytes) ++counts_.errors;
  answer(bytes);
}

std::string_view ProtocolServer::answer_to(const Frame& frame) {
  using Kind = Announcement::Kind;
  const uint64_t heard_ns = monotonic_ns();
  // Where something of another message was read with it, or waits to be read, the last one who wrote may be that one's.
  uint64_t writer = host_.writer ? host_.writer() : 0;  // of each message, so that a later one knows what is new
  int more = 0;
  if (decoder_.is_waiting() || ::ioctl(fifos_.control(), FIONREAD, &more) != 0 || more != 0) writer = 0;
  announced_bytes_ += sizeof(Announcement) + frame.text.size();
  if (announced_bytes_ > kMaxAnnouncedBytes) {
    warn_once("clients announced more than fits into 64 MB; the rest is refused");
    return kErrBytes;
  }
  if (nobody_since_ && (frame.kind == FrameKind::kStart || frame.kind == FrameKind::kSetVersion)) {
    depth_ = 0;  // whoever began something before is gone
    nobody_since_ = false;
  }
  switch (frame.kind) {
    case FrameKind::kStart:
      if (depth_ >= kMaxOpen) {
        warn_once(fmt::format("more than {} benchmarks at a time: the rest is refused", kMaxOpen));
        return kErrBytes;
      }
      if (depth_++ > 0) warn_once("a benchmark began while another one ran: windows are split by process");
      set_open(true);
      said_.push_back({.kind = Kind::kStart, .time_ns = monotonic_ns(), .writer = writer});
      return kAckBytes;
    case FrameKind::kStop:
      said_.push_back({.kind = Kind::kStop, .time_ns = heard_ns, .writer = writer});
      if (depth_ == 0) warn_once("a benchmark ended that had not begun");
      else --depth_;
      set_open(depth_ > 0);
      return kAckBytes;
    case FrameKind::kCurrentBenchmark: {
      const ProcessId process = host_.identify(frame.pid);
      if (process.pid == 0) {
        warn_once(fmt::format("process {} announced a benchmark and is none of the command's: refused; it may be another runner's", frame.pid));
        return kErrBytes;
      }
      said_.push_back({.kind = Kind::kCurrent, .time_ns = heard_ns, .writer = writer, .told_pid = frame.pid, .process = process, .uri = frame.text});
      return kAckBytes;
    }
    case FrameKind::kAddMarker:
      if (frame.marker == Marker::kRoundStart || frame.marker == Marker::kRoundEnd)
        said_.push_back({.kind = kind_of(frame.marker), .time_ns = frame.number, .told_pid = frame.pid});
      return kAckBytes;
    case FrameKind::kSetVersion:
      set_open(depth_ > 0);
      if (frame.number >= 1 && frame.number <= kMaxVersion) return kAckBytes;
      warn_once(fmt::format("a client speaks version {} of the protocol; versions 1 to {} are spoken here", frame.number, kMaxVersion));
      return kErrBytes;
    case FrameKind::kSetIntegration: integration_ = frame.text; return kAckBytes;
    case FrameKind::kPing:
      set_open(depth_ > 0);
      return kAckBytes;
    case FrameKind::kGetMode: return kWalltimeBytes;
    default: return kErrBytes;  // what only a server says
  }
}

void ProtocolServer::set_open(bool open) {
  if (open == open_) return;
  open_ = open;
  host_.gate(open);
}

void ProtocolServer::answer(std::string_view bytes) {
  answered_ns_ = monotonic_ns();
  // Full: nobody has read thousands of answers, and nobody will.
  while (::write(fifos_.answer(), bytes.data(), bytes.size()) < 0) {
    if (errno == EAGAIN) drain_answers();
    else if (errno != EINTR) return;
  }
}

size_t ProtocolServer::unread_bytes() const {
  int bytes = 0;
  return ::ioctl(fifos_.answer(), FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

// Answers to clients that died would be taken for their own by the next ones.
void ProtocolServer::drain_answers() {
  if (unread_bytes() == 0) return;
  ++counts_.unread;
  char bytes[4096];
  while (::read(fifos_.answer(), bytes, sizeof bytes) > 0) continue;
}

void ProtocolServer::warn_once(const std::string& text) {
  if (warnings_.size() < 20 && std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(text);
}

}  // namespace cicada::benchmark

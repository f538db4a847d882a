// SPDX-License-Identifier: Apache-2.0
#include "web/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/catching.h"
#include "base/diagnostics.h"

namespace cicada::web {
namespace {

constexpr size_t kBlock = 4096;
constexpr int kMostAcceptedAtOnce = 64;
constexpr std::chrono::seconds kAcceptsAgain(1);  // where no descriptor is left
// A socket closed with something unread takes back what was sent: what still comes is read for so long.
constexpr std::chrono::seconds kDrainTimeout(1);
constexpr size_t kMostDrained = 1 << 20;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

int milliseconds_until(std::chrono::steady_clock::time_point time) {
  return static_cast<int>(std::clamp<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now()).count(), 0, 60'000));
}

bool would_block() { return errno == EAGAIN || errno == EINTR; }

// Threads that are started meanwhile leave all signals to others.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool Connection::skip_body(size_t bytes) {
  const auto deadline = Clock::now() + limits_.read_timeout;
  while (received_.size() < head_ + bytes) {
    pollfd polled{fd_.get(), POLLIN, 0};
    if (stopping_ || ::poll(&polled, 1, milliseconds_until(deadline)) == 0) return false;
    char block[kBlock];
    const ssize_t got = ::recv(fd_.get(), block, std::min(sizeof block, head_ + bytes - received_.size()), 0);
    if (got == 0 || (got < 0 && !would_block())) return false;
    if (got > 0) received_.append(block, static_cast<size_t>(got));
  }
  received_.erase(head_, bytes);
  return true;
}

bool Connection::send(std::string_view bytes) {
  auto deadline = Clock::now() + limits_.write_timeout;
  while (!bytes.empty()) {
    if (stopping_) return false;
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !would_block()) return false;
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      deadline = Clock::now() + limits_.write_timeout;
      continue;
    }
    pollfd polled{fd_.get(), POLLOUT, 0};
    if (::poll(&polled, 1, milliseconds_until(deadline)) == 0) return false;
  }
  return true;
}

bool Connection::is_gone() const {
  if (stopping_) return true;
  pollfd polled{fd_.get(), POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0;
}

Result<std::unique_ptr<Connections>> Connections::start(UniqueFd listener, const ConnectionLimits& limits, Refusals refusals, Serve serve) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return errno_error(errno, "an eventfd");
  std::unique_ptr<Connections> made(new Connections(std::move(listener), std::move(wake), limits, std::move(refusals), std::move(serve)));
  return catching("the thread that serves HTTP", [&]() -> Result<std::unique_ptr<Connections>> {
    const SignalsBlocked blocked;
    made->loop_ = std::thread([connections = made.get()] {
      const Result<void> ran = catching("connections", [&] { return connections->run(), Result<void>(); });
      if (!ran) diagnostics().warn("serve", "{}; nothing is served any more", ran.error().message());
      for (Connection& connection : connections->open_) ::shutdown(connection.fd_.get(), SHUT_RDWR);
    });
    return std::move(made);
  });
}

Connections::~Connections() {
  stopping_ = true;
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  if (loop_.joinable()) loop_.join();
  { const std::lock_guard lock(mutex_); }  // or a thread that has just seen that we do not stop sleeps on
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Connections::answer_requests() {
  ::prctl(PR_SET_NAME, "cicada-answers");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_threads_;
    has_work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    --idle_threads_;
    if (stopping_) return;
    Connection* connection = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    const Result<bool> kept = catching("a request", [&] { return Result<bool>(serve_(*connection)); });
    lock.lock();
    answered_.emplace_back(connection, kept && *kept);
    static_cast<void>(::eventfd_write(wake_.get(), 1));
  }
}

// False: there is no thread that could answer it.
bool Connections::hand_over(Connection& connection) {
  connection.phase_ = Connection::Phase::kIsAnswered;
  const std::lock_guard lock(mutex_);
  if (idle_threads_ <= waiting_.size() && threads_.size() < limits_.threads) {
    const Result<void> started = catching("a thread that serves HTTP", [&] {
      threads_.emplace_back([this] { answer_requests(); });
      return Result<void>();
    });
    if (!started) diagnostics().warn("serve", "{}; it goes on with {} threads", started.error().message(), threads_.size());
  }
  if (!threads_.empty()) waiting_.push_back(&connection);
  has_work_.notify_one();
  return !threads_.empty();
}

// Of this and what follows: false: the connection is to be closed now.
bool Connections::close_politely(Connection& connection, std::string_view last_words) {
  static_cast<void>(::send(connection.fd_.get(), last_words.data(), last_words.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  connection.phase_ = Connection::Phase::kIsDrained;
  connection.deadline_ = Clock::now() + kDrainTimeout;
  return ::shutdown(connection.fd_.get(), SHUT_WR) == 0;
}

void Connections::expect_request(Connection& connection) {
  connection.phase_ = Connection::Phase::kReads;
  connection.head_ = 0;
  connection.deadline_ = Clock::now() + limits_.read_timeout;
}

bool Connections::look_for_head(Connection& connection, size_t from) {
  const size_t end = connection.received_.find(kHeadEnd, from);
  const size_t head = end == std::string::npos ? connection.received_.size() + 1 : end + kHeadEnd.size();
  if (head > limits_.head) return close_politely(connection, refusals_.head_too_large);
  if (end == std::string::npos) return true;
  connection.head_ = head;
  return hand_over(connection) || close_politely(connection, refusals_.too_many);
}

bool Connections::receive_to_drain(Connection& connection) {
  char block[kBlock];
  const ssize_t got = ::recv(connection.fd_.get(), block, sizeof block, MSG_DONTWAIT);
  if (got < 0) return would_block();
  connection.drained_ += static_cast<size_t>(got);
  return got > 0 && connection.drained_ < kMostDrained;
}

bool Connections::receive(Connection& connection) {
  if (connection.phase_ == Connection::Phase::kIsDrained) return receive_to_drain(connection);
  char block[kBlock];
  const ssize_t got = ::recv(connection.fd_.get(), block, sizeof block, MSG_DONTWAIT);
  if (got < 0) return would_block();
  if (got == 0) return false;
  const size_t before = connection.received_.size();
  if (before == 0) connection.deadline_ = Clock::now() + limits_.read_timeout;
  connection.received_.append(block, static_cast<size_t>(got));
  return look_for_head(connection, before - std::min(before, kHeadEnd.size() - 1));
}

void Connections::take_back() {
  std::vector<std::pair<Connection*, bool>> answered;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(answered_);
  }
  for (const auto& [connection, stays] : answered) {
    connection->received_.erase(0, connection->head_);
    ++connection->answered_;
    expect_request(*connection);
    const bool open = stays ? connection->received_.empty() || look_for_head(*connection, 0) : close_politely(*connection, "");
    if (!open) open_.remove_if([gone = connection](const Connection& each) { return &each == gone; });
  }
}

void Connections::accept_some() {
  for (int accepted = 0; accepted < kMostAcceptedAtOnce; ++accepted) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) accepts_again_ = Clock::now() + kAcceptsAgain;
    if (!fd && errno != ECONNABORTED) return;
    if (!fd) continue;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a head and a body are two writes
    if (open_.size() < limits_.connections) {
      expect_request(open_.emplace_back(std::move(fd), limits_, stopping_));
      continue;
    }
    static_cast<void>(::send(fd.get(), refusals_.too_many.data(), refusals_.too_many.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    ::shutdown(fd.get(), SHUT_WR);
    char block[kBlock];
    static_cast<void>(::recv(fd.get(), block, sizeof block, MSG_DONTWAIT));
  }
}

void Connections::run() {
  ::prctl(PR_SET_NAME, "cicada-http");
  std::vector<pollfd> polled;
  std::vector<std::list<Connection>::iterator> read;
  while (!stopping_) {
    take_back();
    const bool accepts = Clock::now() >= accepts_again_;
    auto next = accepts ? Clock::time_point::max() : accepts_again_;
    polled.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), static_cast<short>(accepts ? POLLIN : 0), 0}});
    read.clear();
    for (auto at = open_.begin(); at != open_.end(); ++at) {
      if (at->phase_ == Connection::Phase::kIsAnswered) continue;
      polled.push_back({at->fd_.get(), POLLIN, 0});
      read.push_back(at);
      next = std::min(next, at->deadline_);
    }
    if (::poll(polled.data(), polled.size(), next == Clock::time_point::max() ? -1 : milliseconds_until(next)) < 0) continue;
    if (polled[0].revents != 0) {
      eventfd_t ignored;
      static_cast<void>(::eventfd_read(wake_.get(), &ignored));
    }
    const auto now = Clock::now();
    for (size_t i = 0; i < read.size(); ++i) {
      const bool open = polled[i + 2].revents == 0 || receive(*read[i]);
      if (!open || (read[i]->phase_ != Connection::Phase::kIsAnswered && now >= read[i]->deadline_)) open_.erase(read[i]);
    }
    if (polled[1].revents != 0) accept_some();
  }
}

}  // namespace cicada::web

// SPDX-License-Identifier: Apache-2.0
// The connections of a server, and the threads that answer them.
//
//   listener ──▶ one thread: accepts, reads heads of requests, closes ── a whole head ──▶ threads that answer ──▶ back, kept or closed
//
// A thread that answers never waits for a request: who connects and says nothing, or little by little, holds a descriptor and Limits::head bytes for
// Limits::read_timeout. Who comes when Limits::connections are open is told so and closed at once.
// httplib's own loop hands each connection to a thread before it has said anything, and leaks the descriptor of one that is not taken.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::web {

struct ConnectionLimits {
  size_t connections = 64, threads = 24, requests = 100;  // requests: of one connection
  size_t head = 16 << 10;                                 // bytes
  std::chrono::milliseconds read_timeout{5'000};          // for a whole head, from its first byte on; and between two requests
  std::chrono::milliseconds write_timeout{10'000};        // that a client may read nothing
};

// Borrowed by the thread that answers.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Connection(UniqueFd fd, const ConnectionLimits& limits, const std::atomic<bool>& stopping) : limits_(limits), stopping_(stopping), fd_(std::move(fd)) {}

  // What the request says before its body, with the empty line.
  std::string_view head() const { return std::string_view(received_).substr(0, head_); }
  // Reads the body and forgets it. False: it did not come in time.
  bool skip_body(size_t bytes);
  // All of it. False: the client is gone, or read nothing for write_timeout.
  bool send(std::string_view bytes);
  // The client closed its end, or the server stops.
  bool is_gone() const;
  bool is_last_request() const { return answered_ + 1 >= limits_.requests; }

 private:
  friend class Connections;
  enum class Phase { kReads, kIsAnswered, kIsDrained };
  const ConnectionLimits& limits_;
  const std::atomic<bool>& stopping_;
  UniqueFd fd_;
  std::string received_;  // of the request
  size_t head_ = 0;       // bytes; 0: it is not there yet
  size_t answered_ = 0;
  Phase phase_ = Phase::kReads;
  Clock::time_point deadline_ = {};
  size_t drained_ = 0;  // bytes
};

class Connections {
 public:
  // Answers one request, on one of the threads. False: the connection is closed.
  using Serve = std::function<bool(Connection&)>;
  // What a client is told that cannot be served. Sent as it is.
  struct Refusals {
    std::string too_many, head_too_large;
  };
  // `listener` does not block. Fails: the system's.
  static Result<std::unique_ptr<Connections>> start(UniqueFd listener, const ConnectionLimits& limits, Refusals refusals, Serve serve);
  // Ends at once what is sent and received, and waits for `serve` to return.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  bool is_stopping() const { return stopping_; }

 private:
  using Clock = Connection::Clock;
  Connections(UniqueFd listener, UniqueFd wake, const ConnectionLimits& limits, Refusals refusals, Serve serve)
      : limits_(limits), refusals_(std::move(refusals)), serve_(std::move(serve)), listener_(std::move(listener)), wake_(std::move(wake)) {}
  void run();
  void take_back();
  void accept_some();
  bool receive(Connection& connection);
  bool receive_to_drain(Connection& connection);
  bool look_for_head(Connection& connection, size_t from);  // from: where its end may begin
  bool hand_over(Connection& connection);
  void expect_request(Connection& connection);
  bool close_politely(Connection& connection, std::string_view last_words);
  void answer_requests();

  const ConnectionLimits limits_;
  const Refusals refusals_;
  const Serve serve_;
  const UniqueFd listener_, wake_;
  std::atomic<bool> stopping_ = false;

  // The one thread's.
  std::list<Connection> open_;
  Clock::time_point accepts_again_ = {};
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // of what follows
  std::condition_variable has_work_;
  std::deque<Connection*> waiting_;                   // for a thread
  std::vector<std::pair<Connection*, bool>> answered_;  // and whether they stay open
  size_t idle_threads_ = 0;

  std::thread loop_;
};

}  // namespace cicada::web

// SPDX-License-Identifier: Apache-2.0
// Answers the clients of the runner FIFO protocol, on a thread of its own, and writes down what they say.
//
//   client ── Start ──▶ control FIFO ──▶ decoder ──▶ gate(open) ──▶ Ack ──▶ answer FIFO
//                                            └──▶ announcements()
//
// The gate is open until the first client introduces itself (a program that announces nothing is profiled whole), then while more windows were
// begun than ended. It is flipped before the answer.
//
// Answers have no address: two clients that wait at the same time can take each other's. That is the protocol's; it is counted.
// Borrows the FIFOs and the host. Threads: start() and stop() on one; the host is called on the server's.
#pragma once
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "benchmark/fifo_pair.h"
#include "benchmark/frame.h"
#include "benchmark/windows.h"

namespace cicada::benchmark {

struct ServerHost {
  std::function<void(bool open)> gate;
  std::function<ProcessId(Pid told)> identify;  // whom a client means by its pid; {}: nobody of the command's, who is refused
  std::function<uint64_t()> writer = {};         // Announcement::writer of what was just read; none: unknown
};

struct ServerCounts {
  uint64_t frames = 0, mixed = 0, skipped_bytes = 0;
  uint64_t errors = 0;        // answered with Err: undecodable, or a version that is not spoken here
  uint64_t unread = 0;        // answers that nobody took in a second
  uint64_t simultaneous = 0;  // questions that came while an answer to another one was not taken yet
};

class ProtocolServer {
 public:
  static Result<std::unique_ptr<ProtocolServer>> start(FifoPair& fifos, ServerHost host);
  ~ProtocolServer();
  // Takes what is in the FIFO still. Idempotent; what follows has answers only after it.
  void stop();

  const std::vector<Announcement>& announcements() const { return said_; }
  const ServerCounts& counts() const { return counts_; }
  const std::string& integration() const { return integration_; }  // "codspeed-node 5.7.1"
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  ProtocolServer(FifoPair& fifos, ServerHost host) : fifos_(fifos), host_(std::move(host)) {}
  void run();
  void read_all();
  void decode(bool quiet);
  void take(const Frame& frame);
  std::string_view answer_to(const Frame& frame);
  void set_open(bool open);
  void answer(std::string_view bytes);
  void drain_answers();
  size_t unread_bytes() const;
  void warn_once(const std::string& text);

  FifoPair& fifos_;
  ServerHost host_;
  FrameDecoder decoder_;
  std::vector<Announcement> said_;
  ServerCounts counts_;
  std::string integration_;
  std::vector<std::string> warnings_;
  bool open_ = true, anybody_ = false, nobody_since_ = false;
  uint64_t depth_ = 0, announced_bytes_ = 0;
  uint64_t heard_ns_ = 0, answered_ns_ = 0;
  UniqueFd stop_, epoll_;
  std::thread thread_;
};

}  // namespace cicada::benchmark

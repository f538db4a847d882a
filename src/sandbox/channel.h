// SPDX-License-Identifier: Apache-2.0
// Messages between two processes of cicada, with descriptors: a SOCK_SEQPACKET socket. Large contents go in a file in memory.
// Owns its end. Threads: one at a time.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::sandbox {

struct Message {
  static constexpr size_t kMaxText = 32 << 10, kMaxFds = 2;
  uint32_t kind = 0;
  std::array<uint64_t, 5> numbers{};
  std::string text;          // cut off behind kMaxText
  std::vector<UniqueFd> fds;  // that came with it
};

class Channel {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}
  static Result<std::pair<UniqueFd, UniqueFd>> make_pair();

  int fd() const { return socket_.get(); }
  // `fds`: handed over as copies; message.fds are not sent. Waits while the other end does not read.
  // Fails: kGone (nobody is at the other end).
  Result<void> send(const Message& message, std::initializer_list<int> fds = {}) { return send(message, fds, 0); }
  // Waits for nobody. Fails, too: kLimit (the other end has not read what it was sent before).
  Result<void> send_now(const Message& message, std::initializer_list<int> fds = {});
  // Waits. With `may_bring_fds` false those that come are dropped by the kernel.
  // Fails: kGone (the other end is closed), kLimit (`deadline` is over, or `stop` says so; asked every 20 ms), kCorrupt.
  Result<Message> receive(bool may_bring_fds, Clock::time_point deadline = Clock::time_point::max(), const std::function<bool()>& stop = {});

 private:
  Result<void> send(const Message& message, std::initializer_list<int> fds, int flags);
  UniqueFd socket_;
};

// A file in memory that holds `bytes`.
Result<UniqueFd> memory_file(const void* bytes, size_t size);
Result<void> write_file(int fd, const void* bytes, size_t size);  // from its beginning
// Its first `size` bytes, copied: whoever else holds it may write meanwhile. Fails: kCorrupt (it has fewer).
Result<void> read_file(int fd, void* to, size_t size);

}  // namespace cicada::sandbox

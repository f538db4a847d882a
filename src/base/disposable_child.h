// SPDX-License-Identifier: Apache-2.0
// System calls that may never return: on a file system that another program or machine serves (FUSE, NFS, …). Who waits there cannot always
// be killed, and a process with such a thread does not end. So a child does them; one that does not answer in time is abandoned. It holds a
// copy of our memory and no descriptor but those it was given.
//
//   const auto answer = TRY(children.run(owner, {directory}, [&](ChildAnswer& answer) { answer.fd = ::openat(directory, "name", O_RDONLY);
//   }));
//
// On a busy machine a child may have too little of a CPU to answer: as long as it could run it is not silent, up to kMostTimeouts.
//
// Each has an owner: the user whose files or processes it asks about, and to whose account it goes when it is left behind (left_behind.h).
//
// Cost: a fork, 1 to 3 ms. Threads: any.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada {

// What the child says.
struct ChildAnswer {
  int32_t error = 0;    // errno
  uint64_t number = 0;  // as the work likes
  int32_t fd = -1;      // handed over
};

// The child's end. Everything is a system call.
class ChildEnd {
 public:
  explicit ChildEnd(int socket) : socket_(socket) {}
  void say(const ChildAnswer& answer) const;
  // Waits for what is asked next. False: nobody asks any more.
  bool hear(uint64_t& request) const;

 private:
  int socket_;
};

class DisposableChildren {
 public:
  static constexpr int kMostTimeouts = 10;
  struct Answer {
    int32_t error = 0;
    uint64_t number = 0;
    UniqueFd fd;
  };

  // A child that answers for as long as this is kept. Threads: one at a time.
  class Conversation {
   public:
    Conversation(Conversation&&) noexcept = default;
    Conversation& operator=(Conversation&&) = delete;
    ~Conversation();
    // The next answer. Nothing: it did not come in time, or `stop` (asked every 20 ms) was first, and none will. Fails: kGone (it died).
    Result<std::optional<Answer>> hear(const std::stop_token& stop = {});
    Result<std::optional<Answer>> ask(uint64_t request, const std::stop_token& stop = {});
    // Whom the next answers are about.
    void set_owner(uint32_t owner) { owner_ = owner; }

   private:
    friend class DisposableChildren;
    Conversation(uint32_t owner, std::chrono::milliseconds timeout, UniqueFd socket, pid_t pid, UniqueFd pidfd)
        : owner_(owner), timeout_(timeout), pid_(pid), socket_(std::move(socket)), pidfd_(std::move(pidfd)) {}
    uint32_t owner_;
    std::chrono::milliseconds timeout_;
    pid_t pid_;
    UniqueFd socket_, pidfd_;
    bool silent_ = false;
  };

  // timeout: what one answer may take of a child that does not run.
  explicit DisposableChildren(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // `work(ChildEnd)` in a child that has only `kept` of our descriptors and hears no signals: system calls only, no memory, no locks.
  // Fails: kLimit (too many of this owner were left behind), the system's error.
  template <typename Work>
  Result<Conversation> start(uint32_t owner, std::initializer_list<int> kept, Work work) {
    return start_erased(
        owner, kept, [](void* erased, ChildEnd end) { (*static_cast<Work*>(erased))(end); }, &work);
  }
  // `work(ChildAnswer&)`, and then its answer. Nothing: it was abandoned. Fails: as start(), kGone (it died).
  template <typename Work>
  Result<std::optional<Answer>> run(uint32_t owner, std::initializer_list<int> kept, Work work, const std::stop_token& stop = {}) {
    auto child = TRY(start(owner, kept, [&work](ChildEnd end) {
      ChildAnswer answer;
      work(answer);
      end.say(answer);
    }));
    return child.hear(stop);
  }

 private:
  using Function = void (*)(void* work, ChildEnd end);
  Result<Conversation> start_erased(uint32_t owner, std::initializer_list<int> kept, Function function, void* work);

  std::chrono::milliseconds timeout_;
};

}  // namespace cicada

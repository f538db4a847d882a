// SPDX-License-Identifier: Apache-2.0
// System calls that may never return: on a file system that another program or machine serves (FUSE, NFS, …). Who waits there cannot always
// be killed, and a process with such a thread does not end. So a child does them; one that does not answer in time is abandoned. It holds a
// copy of our memory and no descriptor but those it was given.
//
//   const auto answer = TRY(children.run({directory}, [&](ChildAnswer& answer) { answer.fd = ::openat(directory, "name", O_RDONLY); }));
//
// Cost: a fork, 1 to 3 ms. Threads: any.
#pragma once
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <vector>

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
  static constexpr size_t kMaxAbandoned = 32;
  struct Answer {
    int32_t error = 0;
    uint64_t number = 0;
    UniqueFd fd;
  };

  // A child that answers for as long as this is kept, which the children outlive. Threads: one at a time.
  class Conversation {
   public:
    Conversation(Conversation&&) noexcept = default;
    Conversation& operator=(Conversation&&) = delete;
    ~Conversation();
    // The next answer. Nothing: it did not come in time, and none will. Fails: kGone (it died).
    Result<std::optional<Answer>> hear();
    Result<std::optional<Answer>> ask(uint64_t request);

   private:
    friend class DisposableChildren;
    Conversation(DisposableChildren& all, UniqueFd socket, UniqueFd pidfd)
        : all_(all), socket_(std::move(socket)), pidfd_(std::move(pidfd)) {}
    DisposableChildren& all_;
    UniqueFd socket_, pidfd_;
    bool silent_ = false;
  };

  // timeout: what one answer may take.
  explicit DisposableChildren(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // `work(ChildEnd)` in a child that has only `kept` of our descriptors: system calls only, no memory, no locks.
  // Fails: kLimit (too many were abandoned), the system's error.
  template <typename Work>
  Result<Conversation> start(std::initializer_list<int> kept, Work work) {
    return start_erased(
        kept, [](void* erased, ChildEnd end) { (*static_cast<Work*>(erased))(end); }, &work);
  }
  // `work(ChildAnswer&)`, and then its answer. Nothing: it was abandoned. Fails: as start(), kGone (it died).
  template <typename Work>
  Result<std::optional<Answer>> run(std::initializer_list<int> kept, Work work) {
    auto child = TRY(start(kept, [&work](ChildEnd end) {
      ChildAnswer answer;
      work(answer);
      end.say(answer);
    }));
    return child.hear();
  }

 private:
  using Function = void (*)(void* work, ChildEnd end);
  Result<Conversation> start_erased(std::initializer_list<int> kept, Function function, void* work);
  size_t count_abandoned();
  void abandon(UniqueFd pidfd);

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::vector<UniqueFd> abandoned_;  // pidfds, until they can be reaped
};

}  // namespace cicada

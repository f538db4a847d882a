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

// What the child says, before it ends.
struct ChildAnswer {
  int32_t error = 0;    // errno
  uint32_t number = 0;  // as the work likes
  int32_t fd = -1;      // handed over
};

class DisposableChildren {
 public:
  static constexpr size_t kMaxAbandoned = 32;
  struct Answer {
    int32_t error = 0;
    uint32_t number = 0;
    UniqueFd fd;
  };

  // timeout: what one child may take.
  explicit DisposableChildren(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // `work(ChildAnswer&)` in a child that has only `kept` of our descriptors: system calls only, no memory, no locks. Nothing: it was abandoned.
  // Fails: kLimit (too many were abandoned), kGone (it died), the system's error.
  template <typename Work>
  Result<std::optional<Answer>> run(std::initializer_list<int> kept, Work work) {
    return run_erased(kept, [](void* erased, ChildAnswer& answer) { (*static_cast<Work*>(erased))(answer); }, &work);
  }

 private:
  using Function = void (*)(void* work, ChildAnswer& answer);
  Result<std::optional<Answer>> run_erased(std::initializer_list<int> kept, Function function, void* work);
  size_t count_abandoned();

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::vector<UniqueFd> abandoned_;  // pidfds, until they can be reaped
};

}  // namespace cicada

// SPDX-License-Identifier: Apache-2.0
// Processes that were told to end and have not: they wait in a system call that may never return. The one ledger of them, so that their number
// is bounded: by owner, that is for whose files or processes they were started, so that one user's silence takes nobody else's places. Root's
// are apart from all others'.
// Threads: any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/unique_fd.h"

namespace cicada {

class LeftBehind {
 public:
  static constexpr size_t kMaxOfOne = 8, kMaxOfRoot = 64;
  static constexpr size_t kMaxOfUsers = 64;  // of all users but root. Who has many uids (/etc/subuid) can take all of them from other users

  // Of this process.
  static LeftBehind& all();
  // May another be started for this owner? Reaps those that have ended.
  bool has_room(uint32_t owner);
  // A pidfd.
  void add(uint32_t owner, UniqueFd process);

 private:
  struct Left {
    uint32_t owner;
    UniqueFd process;
  };
  std::mutex mutex_;
  std::vector<Left> left_;
};

}  // namespace cicada

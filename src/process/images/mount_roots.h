// SPDX-License-Identifier: Apache-2.0
// The root directories of processes that see other files than we do (containers, chroots), held open so that what is in them can be found
// after the process is gone. The mount namespace is held with the directory: when its last process ends, its mounts fall apart, and the
// directory alone would lose what is mounted below it.
// A held namespace keeps a container's mounts busy; hence at most kMaxRoots, the oldest is let go first.
// Threads: any.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "base/process_key.h"
#include "base/unique_fd.h"

namespace cicada::process {

class MountRoots {
 public:
  static constexpr size_t kMaxRoots = 32;

  explicit MountRoots(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // A descriptor (O_PATH) of the directory. Null: it is ours, or the process is gone or out of reach.
  std::shared_ptr<const UniqueFd> find(Pid pid);

 private:
  struct Identity {
    uint64_t namespace_inode = 0, device = 0, inode = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Held {
    UniqueFd mount_namespace, directory;
  };
  struct Root {
    Identity identity;
    std::shared_ptr<const Held> held;
  };
  static std::shared_ptr<const UniqueFd> directory_of(const Root& root);

  std::string proc_;
  std::mutex mutex_;
  std::deque<Root> roots_;  // oldest first
};

}  // namespace cicada::process

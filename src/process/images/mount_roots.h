// SPDX-License-Identifier: Apache-2.0
// The root directories of processes that see other files than we do (containers, chroots), held open so that what is in them can be found
// after the process is gone.
// In a user namespace of his own anybody mounts what he likes where he likes. Such a view is believed about the files of the users that are
// mapped into the namespace, as the kernel does it, and about nobody else's.
// The mount namespace is held with the directory: when its last process ends, its mounts fall apart, and the directory alone would lose what is
// mounted below it.
// A held namespace keeps a container's mounts busy; hence at most kMaxRoots, the oldest is let go first.
// Threads: any.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/process_key.h"
#include "base/unique_fd.h"

namespace cicada::process {

class MountRoots {
 public:
  static constexpr size_t kMaxRoots = 32;

  explicit MountRoots(std::string proc = "/proc") : proc_(std::move(proc)) {}
  struct View {
    std::shared_ptr<const UniqueFd> root;  // a descriptor (O_PATH) of the directory; null: ours
    bool is_strangers = false;             // it says nothing about the files of that owner; no root
  };
  // How the process sees the files of `owner`. Nothing: it is gone or out of reach.
  std::optional<View> find(Pid pid, uint32_t owner);

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
  // May who has the say over the mounts that the process sees also do what he likes with the files of `owner`?
  bool has_say(const std::string& process, const UniqueFd& mount_namespace, uint32_t owner) const;

  std::string proc_;
  std::mutex mutex_;
  std::deque<Root> roots_;  // oldest first
};

}  // namespace cicada::process

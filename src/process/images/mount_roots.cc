// SPDX-License-Identifier: Apache-2.0
#include "process/images/mount_roots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace cicada::process {

std::shared_ptr<const UniqueFd> MountRoots::directory_of(const Root& root) { return {root.held, &root.held->directory}; }

std::shared_ptr<const UniqueFd> MountRoots::find(Pid pid) {
  const auto open_of = [&](const std::string& process) {
    Held held;
    held.mount_namespace = UniqueFd(::open(fmt::format("{}/{}/ns/mnt", proc_, process).c_str(), O_RDONLY | O_CLOEXEC));
    held.directory = UniqueFd(::open(fmt::format("{}/{}/root", proc_, process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return held;
  };
  const auto identity_of = [](const Held& held) {
    struct stat space {}, directory {};
    if (!held.mount_namespace || !held.directory || ::fstat(held.mount_namespace.get(), &space) != 0 || ::fstat(held.directory.get(), &directory) != 0) return Identity{};
    return Identity{space.st_ino, directory.st_dev, directory.st_ino};
  };
  Held held = open_of(std::to_string(pid));
  const Identity identity = identity_of(held);
  if (identity == Identity{} || identity == identity_of(open_of("self"))) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(roots_.begin(), roots_.end(), [&](const Root& root) { return root.identity == identity; });
  if (known != roots_.end()) return directory_of(*known);
  if (roots_.size() >= kMaxRoots) roots_.pop_front();
  roots_.push_back({identity, std::make_shared<const Held>(std::move(held))});
  return directory_of(roots_.back());
}

}  // namespace cicada::process

// SPDX-License-Identifier: Apache-2.0
#include "process/images/mount_roots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <sstream>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

// Asks no file system, which may be somebody's who does not answer: device and inode of a handle never change. False: there is none.
bool identify(const UniqueFd& fd, struct statx& st) { return fd && ::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) == 0; }

ino_t inode_of(const UniqueFd& fd) {
  struct statx st {};
  return identify(fd, st) ? st.stx_ino : 0;
}

UniqueFd open_namespace(const std::string& path) { return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }

}  // namespace

std::shared_ptr<const UniqueFd> MountRoots::directory_of(const Root& root) { return {root.held, &root.held->directory}; }

bool MountRoots::has_say(const std::string& process, const UniqueFd& mount_namespace, uint32_t owner) const {
  // Root can enter the mounts of a user namespace and stay in his own.
  const UniqueFd maker(::ioctl(mount_namespace.get(), NS_GET_USERNS));
  const ino_t ours = inode_of(open_namespace(proc_ + "/self/ns/user")), own = inode_of(open_namespace(fmt::format("{}/{}/ns/user", proc_, process)));
  if (!maker || own == 0) return false;
  if (own == ours) return inode_of(maker) == ours;
  // "first in the namespace, first as we count, how many"
  const auto text = read_proc_file(fmt::format("{}/{}/uid_map", proc_, process), 64 << 10);
  std::istringstream map(text ? *text : "");
  for (uint64_t inside = 0, first = 0, count = 0; map >> inside >> first >> count;) {
    if (owner >= first && owner - first < count) return true;
  }
  return false;
}

std::optional<MountRoots::View> MountRoots::find(Pid pid, uint32_t owner) {
  const auto open_of = [&](const std::string& process) {
    Held held;
    held.mount_namespace = open_namespace(fmt::format("{}/{}/ns/mnt", proc_, process));
    held.directory = UniqueFd(::open(fmt::format("{}/{}/root", proc_, process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return held;
  };
  const auto identity_of = [](const Held& held) {
    struct statx directory {};
    const ino_t space = inode_of(held.mount_namespace);
    if (space == 0 || !identify(held.directory, directory)) return Identity{};
    return Identity{space, ::makedev(directory.stx_dev_major, directory.stx_dev_minor), directory.stx_ino};
  };
  const std::string process = std::to_string(pid);
  Held held = open_of(process);
  const Identity identity = identity_of(held);
  if (identity == Identity{}) return std::nullopt;
  if (identity == identity_of(open_of("self"))) return View{};
  if (!has_say(process, held.mount_namespace, owner)) return View{nullptr, true};
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(roots_.begin(), roots_.end(), [&](const Root& root) { return root.identity == identity; });
  if (known != roots_.end()) return View{directory_of(*known)};
  if (roots_.size() >= kMaxRoots) roots_.pop_front();
  roots_.push_back({identity, std::make_shared<const Held>(std::move(held))});
  return View{directory_of(roots_.back())};
}

}  // namespace cicada::process

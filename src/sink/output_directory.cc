// SPDX-License-Identifier: Apache-2.0
#include "sink/output_directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>

namespace cicada::sink {
namespace {

constexpr mode_t kMode = 0755;

uid_t owner_of(const FileRights& rights) { return rights.owner ? rights.owner->uid : ::geteuid(); }

Result<struct stat> look_at(const UniqueFd& handle, const std::string& path) {
  struct stat st {};
  if (::fstat(handle.get(), &st) != 0) return errno_error(errno, path);
  return st;
}

Result<void> check_owner(const struct stat& st, const FileRights& rights, const std::string& path) {
  if (st.st_uid == 0 || st.st_uid == ::geteuid() || st.st_uid == owner_of(rights)) return {};
  return make_error(ErrorKind::kPermission, "{}: belongs to user {}; give another directory with -o", path, st.st_uid);
}

// The directory in which the path's last name is, and that name.
struct Place {
  UniqueFd parent;
  std::string name;
};

Result<Place> find_place(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  Place place{UniqueFd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), name.empty() ? "." : name};
  if (!place.parent) return errno_error(errno, fmt::format("make directory {}", path));
  return place;
}

// What the link says, not what is at its name now.
Result<UniqueFd> follow(const UniqueFd& link, const UniqueFd& parent, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  if (::readlinkat(link.get(), "", target.data(), target.size() - 1) < 0) return errno_error(errno, path);
  UniqueFd handle(::openat(parent.get(), target.data(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open directory {}", path));
  return handle;
}

enum class Links { kOfTheOwner, kNone };

Result<UniqueFd> make(const UniqueFd& parent, const std::string& name, const std::string& path, const FileRights& rights, Links links) {
  const bool made = ::mkdirat(parent.get(), name.c_str(), kMode) == 0;
  if (!made && errno != EEXIST) return errno_error(errno, fmt::format("make directory {}", path));
  UniqueFd handle(::openat(parent.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!handle) return errno_error(errno, fmt::format("open directory {}", path));
  struct stat st = TRY(look_at(handle, path));
  if (S_ISLNK(st.st_mode)) {
    if (made || links == Links::kNone)
      return make_error(ErrorKind::kPermission, "{}: is a link, which is not followed here; remove it", path);
    TRY(check_owner(st, rights, path));
    handle = TRY(follow(handle, parent, path));
    st = TRY(look_at(handle, path));
  }
  if (!S_ISDIR(st.st_mode))
    return make_error(ErrorKind::kInvalid, "{}: is there already, and is no directory; give another name with -o", path);
  TRY(check_owner(st, rights, path));
  if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
    return make_error(ErrorKind::kPermission, "{}: everybody may replace files in it; give another directory with -o", path);
  if (made && rights.owner && st.st_uid == ::geteuid() &&
      ::fchownat(handle.get(), "", rights.owner->uid, rights.owner->gid, AT_EMPTY_PATH) != 0)
    return errno_error(errno, fmt::format("change the owner of {}", path));
  return handle;
}

}  // namespace

Result<std::shared_ptr<const OutputDirectory>> OutputDirectory::open(const std::string& path, const FileRights& rights) {
  const Place place = TRY(find_place(path));
  UniqueFd handle = TRY(make(place.parent, place.name, path, rights, Links::kOfTheOwner));
  return std::shared_ptr<const OutputDirectory>(new OutputDirectory(path, std::move(handle)));
}

bool OutputDirectory::contains(const std::string& name) const {
  struct stat st {};
  return ::fstatat(fd_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> OutputDirectory::make_inside(const std::string& name, const FileRights& rights) const {
  TRY(make(fd_, name, path_ + "/" + name, rights, Links::kNone));
  return {};
}

void OutputDirectory::remove_inside(const std::string& name) const { ::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR); }

Result<UniqueFd> OutputDirectory::open_inside(const std::string& directory) const {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  UniqueFd handle(static_cast<int>(::syscall(SYS_openat2, fd_.get(), directory.c_str(), &how, sizeof how)));
  if (!handle) return errno_error(errno, fmt::format("open directory {}/{}", path_, directory));
  return handle;
}

}  // namespace cicada::sink

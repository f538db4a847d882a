// SPDX-License-Identifier: Apache-2.0
#include "attach/viewer_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/scoped_file_user.h"

namespace cicada::attach {
namespace {

constexpr int kWaiting = 32;  // viewers that have not been accepted
constexpr std::string_view kSuffix = ".sock";
constexpr const char* kRunning = "/run/user";
constexpr const char* kTemporary = "/tmp";
constexpr std::string_view kPrefix = "cicada-";

std::string folder_of(uid_t user) {
  const std::string running = fmt::format("{}/{}", kRunning, user);
  struct stat st {};
  if (::lstat(running.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == user) return running + "/cicada";
  return fmt::format("{}/{}{}", kTemporary, kPrefix, user);
}

std::optional<Pid> pid_in(std::string_view text) {
  Pid pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  return error == std::errc() && end == text.data() + text.size() && pid > 0 ? std::optional(pid) : std::nullopt;
}

// The recorders that have a socket in that folder; some may have been killed.
std::vector<Pid> recorders_in(const std::string& folder) {
  std::vector<Pid> out;
  std::error_code ignored;
  for (auto at = std::filesystem::directory_iterator(folder, ignored); !ignored && at != std::filesystem::directory_iterator(); at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    if (const auto pid = pid_in(std::string_view(name).substr(0, name.size() - kSuffix.size()))) out.push_back(*pid);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_running(Pid pid) { return ::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0; }

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return make_error(ErrorKind::kInvalid, "{}: a socket's path has {} characters at most", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd unix_socket(int flags) { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

Result<UniqueFd> connect_to(const std::string& path, uid_t user) {
  const sockaddr_un address = TRY(address_of(path));
  UniqueFd fd = unix_socket(0);
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, path);
  TRY(check_peer(fd.get(), user));
  return fd;
}

// Where the sockets of those may be whom `user` may ask.
std::vector<std::string> folders_for(uid_t user) {
  std::vector<std::string> out{folder_of(user)};
  if (::geteuid() != 0) return out;
  const auto add_below = [&](const char* directory, std::string_view prefix, std::string_view further) {
    std::error_code ignored;
    for (auto at = std::filesystem::directory_iterator(directory, ignored); !ignored && at != std::filesystem::directory_iterator(); at.increment(ignored)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with(prefix) && pid_in(std::string_view(name).substr(prefix.size()))) out.push_back(fmt::format("{}/{}{}", directory, name, further));
    }
  };
  add_below(kRunning, "", "/cicada");
  add_below(kTemporary, kPrefix, "");
  return out;
}

}  // namespace

Result<void> check_peer(int socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno_error(errno, "who is at the other end of the socket");
  if (peer.uid == 0 || peer.uid == user) return {};
  return make_error(ErrorKind::kPermission, "the other end of the socket is user {}, neither root nor user {}", peer.uid, user);
}

Result<std::unique_ptr<ViewerSocket>> ViewerSocket::open(uid_t user, gid_t group) {
  const std::string folder = folder_of(user);
  const ScopedFileUser as_user(user, group);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, folder);
  struct stat st {};
  if (::lstat(folder.c_str(), &st) != 0) return errno_error(errno, folder);
  if (!S_ISDIR(st.st_mode) || st.st_uid != user || (st.st_mode & 077) != 0)
    return make_error(ErrorKind::kPermission, "{}: it has to be a directory of user {} that others cannot enter; remove it, or chmod 700", folder, user);
  for (const Pid pid : recorders_in(folder))
    if (!is_running(pid) || pid == ::getpid()) ::unlink(fmt::format("{}/{}{}", folder, pid, kSuffix).c_str());
  std::string path = fmt::format("{}/{}{}", folder, ::getpid(), kSuffix);
  const sockaddr_un address = TRY(address_of(path));
  UniqueFd fd = unix_socket(SOCK_NONBLOCK);
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, path);
  std::unique_ptr<ViewerSocket> socket(new ViewerSocket(std::move(fd), std::move(path), user, group));
  if (::chmod(socket->path_.c_str(), 0600) != 0 || ::listen(socket->fd(), kWaiting) != 0) return errno_error(errno, socket->path_);
  return socket;
}

ViewerSocket::~ViewerSocket() {
  const ScopedFileUser as_user(user_, group_);
  ::unlink(path_.c_str());
}

Result<UniqueFd> connect_to_recorder(const std::string& pid_or_path, uid_t user) {
  const auto pid = pid_in(pid_or_path);
  if (!pid) return connect_to(pid_or_path, user);
  std::vector<Pid> others;
  std::optional<Error> refused;
  for (const std::string& folder : folders_for(user)) {
    const std::string path = fmt::format("{}/{}{}", folder, *pid, kSuffix);
    Result<UniqueFd> connected = connect_to(path, user);
    if (connected) return connected;
    if (connected.error().kind() == ErrorKind::kPermission) refused = connected.error();
    for (const Pid other : recorders_in(folder))
      if (other != *pid && is_running(other)) others.push_back(other);
  }
  if (refused) return *refused;
  if (others.empty()) return make_error(ErrorKind::kGone, "process {}: no recording that can be looked at (cicada record --attachable)", *pid);
  return make_error(ErrorKind::kGone, "process {}: no recording that can be looked at; there are {}", *pid, fmt::join(others, ", "));
}

}  // namespace cicada::attach

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
#include <chrono>
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
constexpr size_t kMostListed = 64, kMostNamed = 20;
constexpr std::chrono::seconds kConnectTimeout(2);

struct Folder {
  std::string path;
  uid_t owner;
};

bool is_directory_of(const std::string& path, uid_t owner, mode_t not_for_others) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == owner && (st.st_mode & not_for_others) == 0;
}

Folder running_folder(uid_t user) { return {fmt::format("{}/{}/cicada", kRunning, user), user}; }
Folder temporary_folder(uid_t user) { return {fmt::format("{}/{}{}", kTemporary, kPrefix, user), user}; }

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}
std::optional<Pid> pid_in(std::string_view text) {
  const auto pid = number_in<Pid>(text);
  return pid && *pid > 0 ? pid : std::nullopt;
}

std::string socket_in(const std::string& folder, Pid pid) { return fmt::format("{}/{}{}", folder, pid, kSuffix); }

// The recorders that have a socket in that folder; some may have been killed. kMostListed at most.
std::vector<Pid> recorders_in(const std::string& folder) {
  std::vector<Pid> out;
  std::error_code ignored;
  for (auto at = std::filesystem::directory_iterator(folder, ignored); !ignored && at != std::filesystem::directory_iterator() && out.size() < kMostListed; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    if (const auto pid = pid_in(std::string_view(name).substr(0, name.size() - kSuffix.size()))) out.push_back(*pid);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return make_error(ErrorKind::kInvalid, "{}: a socket's path has {} characters at most", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

UniqueFd unix_socket(int flags) { return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)); }

Result<UniqueFd> connect_to(const std::string& path) {
  const sockaddr_un address = TRY(address_of(path));
  UniqueFd fd = unix_socket(0);
  const timeval timeout{kConnectTimeout.count(), 0};
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  if (errno == EAGAIN) return make_error(ErrorKind::kLimit, "{}: it accepts nobody; is it stopped?", path);
  if (errno == ECONNREFUSED) return make_error(ErrorKind::kGone, "{}: nobody listens there", path);
  return errno_error(errno, path);
}

// Where the sockets of those may be whom `user` may ask.
std::vector<Folder> folders_for(uid_t user) {
  std::vector<Folder> out{running_folder(user), temporary_folder(user)};
  if (::geteuid() != 0) return out;
  const auto add_below = [&](const char* directory, std::string_view prefix, Folder (*folder)(uid_t)) {
    std::error_code ignored;
    for (auto at = std::filesystem::directory_iterator(directory, ignored); !ignored && at != std::filesystem::directory_iterator(); at.increment(ignored)) {
      const std::string name = at->path().filename().string();
      const auto other = name.starts_with(prefix) ? number_in<uid_t>(std::string_view(name).substr(prefix.size())) : std::nullopt;
      if (other && *other != user) out.push_back(folder(*other));
    }
  };
  add_below(kRunning, "", running_folder);
  add_below(kTemporary, kPrefix, temporary_folder);
  return out;
}

// A recorder of that folder, as its owner: links and modes are judged by what the owner may.
Result<UniqueFd> connect_in(const Folder& folder, Pid pid) {
  const ScopedFileUser as_owner(folder.owner);
  if (!as_owner.holds()) return make_error(ErrorKind::kPermission, "{}: only its owner may look at it", folder.path);
  UniqueFd fd = TRY(connect_to(socket_in(folder.path, pid)));
  TRY(check_peer(fd.get(), folder.owner));
  return fd;
}

std::string place_for(uid_t user) {
  const bool runs = is_directory_of(fmt::format("{}/{}", kRunning, user), user, 0);
  return (runs ? running_folder(user) : temporary_folder(user)).path;
}

// As the user.
Result<void> make_folder(const std::string& folder, uid_t user) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, folder);
  if (!is_directory_of(folder, user, 077))
    return make_error(ErrorKind::kPermission, "{}: it has to be a directory of user {} that others cannot enter; remove it, or chmod 700", folder, user);
  return {};
}

}  // namespace

Result<void> check_peer(int socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno_error(errno, "who is at the other end of the socket");
  if (peer.uid == 0 || peer.uid == user) return {};
  return make_error(ErrorKind::kPermission, "the other end of the socket is user {}, neither root nor user {}", peer.uid, user);
}

Result<std::string> folder_of_user(uid_t user, gid_t group) {
  const ScopedFileUser as_user(user, group);
  std::string folder = place_for(user);
  if (!as_user.holds()) return make_error(ErrorKind::kPermission, "{}: cicada may not act as user {} here, whose it has to be", folder, user);
  TRY(make_folder(folder, user));
  return folder;
}

Result<std::unique_ptr<ViewerSocket>> ViewerSocket::open(uid_t user, gid_t group) { return open_in(place_for(user), user, group); }

Result<std::unique_ptr<ViewerSocket>> ViewerSocket::open_in(const std::string& folder, uid_t user, gid_t group) {
  const ScopedFileUser as_user(user, group);
  if (!as_user.holds()) return make_error(ErrorKind::kPermission, "{}: cicada may not act as user {} here, whose it has to be", folder, user);
  TRY(make_folder(folder, user));
  for (const Pid pid : recorders_in(folder)) {
    const std::string left = socket_in(folder, pid);
    const auto answers = connect_to(left);
    if (!answers && answers.error().kind() == ErrorKind::kGone) ::unlink(left.c_str());
  }
  std::string path = socket_in(folder, ::getpid());
  const sockaddr_un address = TRY(address_of(path));
  UniqueFd fd = unix_socket(SOCK_NONBLOCK);
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, path);
  std::unique_ptr<ViewerSocket> socket(new ViewerSocket(std::move(fd), std::move(path), user, group));
  if (::chmod(socket->path_.c_str(), 0600) != 0 || ::listen(socket->fd(), kWaiting) != 0) return errno_error(errno, socket->path_);
  return socket;
}

ViewerSocket::~ViewerSocket() {
  const ScopedFileUser as_user(user_, group_);
  if (as_user.holds()) ::unlink(path_.c_str());
}

Result<UniqueFd> connect_to_recorder(const std::string& pid_or_path, uid_t user) {
  const auto pid = pid_in(pid_or_path);
  if (!pid) {
    UniqueFd fd = TRY(connect_to(pid_or_path));
    TRY(check_peer(fd.get(), user));
    return fd;
  }
  std::vector<Pid> others;
  std::optional<Error> refused;
  for (const Folder& folder : folders_for(user)) {
    if (!is_directory_of(folder.path, folder.owner, 077)) continue;
    Result<UniqueFd> connected = connect_in(folder, *pid);
    if (connected) return connected;
    const ErrorKind kind = connected.error().kind();
    if (kind != ErrorKind::kNotFound && kind != ErrorKind::kGone) refused = connected.error();
    for (const Pid other : recorders_in(folder.path))
      if (other != *pid && others.size() < kMostNamed) others.push_back(other);
  }
  if (refused) return *refused;
  if (others.empty()) return make_error(ErrorKind::kGone, "process {}: no recording that can be looked at (cicada record --attachable)", *pid);
  return make_error(ErrorKind::kGone, "process {}: no recording that can be looked at; there may be {}", *pid, fmt::join(others, ", "));
}

}  // namespace cicada::attach

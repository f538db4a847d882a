// SPDX-License-Identifier: Apache-2.0
#include "benchmark/fifo_pair.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace cicada::benchmark {
namespace {

std::string command_of(pid_t pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  return name.empty() ? "?" : name;
}

// Whoever can open a file can lock it: one that others can open is no lock, and is replaced.
Result<UniqueFd> open_lock(const std::string& path) {
  for (int turn = 0;; ++turn) {
    UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat st {}, now {};
    if (!lock || ::fstat(lock.get(), &st) != 0) return errno_error(errno, fmt::format("open {}", path));
    if ((st.st_mode & 077) == 0 || turn == 8) return lock;
    if (::lstat(path.c_str(), &now) == 0 && now.st_ino == st.st_ino) ::unlink(path.c_str());  // else another runner did
  }
}

Result<UniqueFd> take_lock(const std::string& path) {
  UniqueFd lock = TRY(open_lock(path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    char text[16] = {};
    [[maybe_unused]] const ssize_t got = ::read(lock.get(), text, sizeof text - 1);
    const pid_t holder = std::atoi(text);
    return make_error(ErrorKind::kLimit, "another benchmark run is under way: process {} ({}); clients know one pair of FIFOs, so wait until it ends", holder, command_of(holder));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0 || ::write(lock.get(), pid.data(), pid.size()) < 0) return errno_error(errno, fmt::format("write {}", path));
  return lock;
}

// Some process that has this file open.
std::string who_has(const struct stat& file) {
  DIR* processes = ::opendir("/proc");
  std::string found = "a process";
  while (const dirent* entry = processes == nullptr ? nullptr : ::readdir(processes)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0 || pid == ::getpid()) continue;
    const std::string directory = fmt::format("/proc/{}/fd", pid);
    DIR* files = ::opendir(directory.c_str());
    while (const dirent* fd = files == nullptr ? nullptr : ::readdir(files)) {
      struct stat st {};
      if (::stat(fmt::format("{}/{}", directory, fd->d_name).c_str(), &st) == 0 && S_ISFIFO(st.st_mode) && st.st_ino == file.st_ino && st.st_dev == file.st_dev)
        found = fmt::format("process {} ({})", pid, command_of(pid));
    }
    if (files != nullptr) ::closedir(files);
  }
  if (processes != nullptr) ::closedir(processes);
  return found;
}

// Of a runner that is no cicada. One of another user's serves none of `uid`'s clients, who could not open its FIFO; it is replaced.
Result<void> check_stale(int directory, const std::string& name, uid_t uid) {
  struct stat st {};
  if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISFIFO(st.st_mode)) return {};
  if (st.st_uid != uid && st.st_uid != ::geteuid()) return {};
  const UniqueFd writer(::openat(directory, name.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!writer) return {};  // nobody reads
  return make_error(ErrorKind::kLimit, "{} is in use by {}: another runner, or a client of one", name, who_has(st));
}

Result<UniqueFd> make_fifo(int directory, const std::string& name, uid_t uid, gid_t gid, int flags) {
  // Whoever is in the way is put aside, a directory, too; and again if he is quick. kLimit: one can do without the FIFOs.
  for (int turn = 0;; ++turn) {
    if (::unlinkat(directory, name.c_str(), 0) != 0 && errno == EISDIR) ::renameat(directory, name.c_str(), directory, fmt::format(".{}.{}.{}", name, ::getpid(), turn).c_str());
    if (::mknodat(directory, name.c_str(), S_IFIFO | 0600, 0) == 0) break;
    if (turn == 100) return make_error(ErrorKind::kLimit, "{} cannot be replaced: {}", name, std::strerror(errno));
  }
  UniqueFd fifo(::openat(directory, name.c_str(), flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fifo) return errno_error(errno, fmt::format("open {}", name));
  struct stat st {};
  if (::fstat(fifo.get(), &st) != 0 || !S_ISFIFO(st.st_mode) || st.st_uid != ::geteuid() || st.st_nlink != 1)
    return make_error(ErrorKind::kPermission, "{} was replaced by somebody else at once", name);
  if (::fchown(fifo.get(), uid, gid) != 0) return errno_error(errno, fmt::format("give {} to user {}", name, uid));
  return fifo;
}

ino_t inode_of(int fd) {
  struct stat st {};
  return ::fstat(fd, &st) == 0 ? st.st_ino : 0;
}

// In the child, system calls only: until the other end of `pipe` is closed.
[[noreturn]] void remove_later(int pipe, int directory, const char* control, ino_t control_inode, const char* answer, ino_t answer_inode) {
  ::setsid();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int kept_pipe = ::fcntl(pipe, F_DUPFD, 3), kept_directory = ::fcntl(directory, F_DUPFD, 3);
  ::dup2(kept_pipe, 0);
  ::dup2(kept_directory, 1);
  ::syscall(SYS_close_range, 2U, ~0U, 0U);
  char byte = 0;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) continue;
  struct stat st {};
  if (::fstatat(1, control, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == control_inode) ::unlinkat(1, control, 0);
  if (::fstatat(1, answer, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == answer_inode) ::unlinkat(1, answer, 0);
  ::_exit(0);
}

}  // namespace

Result<FifoPair> FifoPair::create(uid_t uid, gid_t gid, const FifoPlaces& places) {
  FifoPair pair;
  pair.lock_ = TRY(take_lock(places.lock));
  const UniqueFd directory(::open(places.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return errno_error(errno, fmt::format("open {}", places.directory));
  TRY(check_stale(directory.get(), places.control, uid));
  pair.answer_ = TRY(make_fifo(directory.get(), places.answer, uid, gid, O_RDWR));
  pair.control_ = TRY(make_fifo(directory.get(), places.control, uid, gid, O_RDONLY));
  const ino_t control_inode = inode_of(pair.control_.get()), answer_inode = inode_of(pair.answer_.get());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  const UniqueFd read_end(ends[0]);
  pair.remover_.reset(ends[1]);
  pair.child_ = ::fork();
  if (pair.child_ < 0) return errno_error(errno, "fork");
  if (pair.child_ == 0) remove_later(read_end.get(), directory.get(), places.control.c_str(), control_inode, places.answer.c_str(), answer_inode);
  return pair;
}

FifoPair::~FifoPair() {
  if (!remover_) return;
  remover_.reset();
  while (child_ > 0 && ::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace cicada::benchmark

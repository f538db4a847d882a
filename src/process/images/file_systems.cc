// SPDX-License-Identifier: Apache-2.0
#include "process/images/file_systems.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace cicada::process {
namespace {

constexpr std::chrono::milliseconds kFresh{1000};  // an answer of others

struct Answer {
  int32_t error = 0;
  uint32_t magic = 0;
};

// In the child: system calls only. What it opens by name is the first that may hang.
[[noreturn]] void ask_and_leave(const char* path, int answer_fd) {
  const auto keep = static_cast<unsigned>(answer_fd);
  if (keep > 0) ::syscall(SYS_close_range, 0U, keep - 1, 0U);
  ::syscall(SYS_close_range, keep + 1, ~0U, 0U);
  Answer answer;
  const int handle = ::open(path, O_PATH | O_CLOEXEC);
  struct statfs fs {};
  struct statx st {};
  if (handle < 0 || ::fstatfs(handle, &fs) != 0 || ::statx(handle, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) != 0)
    answer.error = errno;
  answer.magic = static_cast<uint32_t>(fs.f_type);
  [[maybe_unused]] const ssize_t written = ::write(answer_fd, &answer, sizeof answer);
  ::_exit(0);
}

// Not SIGCHLD when it ends, and not among those that a wait() of who embeds us finds.
constexpr int kExitSignal = 0;

void reap(const UniqueFd& pidfd, int options) {
  siginfo_t info{};
  ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &info, WEXITED | __WALL | options);
}

Error no_answer() { return make_error(ErrorKind::kIo, "its file system does not answer"); }

}  // namespace

// FUSE, NFS, SMB (three versions), 9P, Ceph, AFS, Coda, Lustre.
bool is_answered_by_others(uint32_t magic) {
  constexpr std::array<uint32_t, 10> kMagics{FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, 0xff534d42,       0xfe534d42,
                                             V9FS_MAGIC,       0x00c36400,      AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, 0x0bd00bd0};
  return std::find(kMagics.begin(), kMagics.end(), magic) != kMagics.end();
}

std::optional<Result<void>> FileSystems::known(Device device) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(left_behind_, [](const UniqueFd& child) {
    pollfd polled{child.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) != 1) return false;
    reap(child, WNOHANG);
    return true;
  });
  std::erase_if(known_, [&](const auto& entry) {
    const auto for_how_long = entry.second.kind == Kind::kOthers ? std::min(kFresh, believed_for_) : believed_for_;
    return now - entry.second.since >= for_how_long;
  });
  const auto at = known_.find(device);
  if (at != known_.end() && at->second.kind != Kind::kSilent) return Result<void>();
  if (at != known_.end() || left_behind_.size() >= kMaxLeftBehind) return no_answer();
  return std::nullopt;
}

Result<void> FileSystems::ask(const FileIdentity& file, const std::string& path) {
  if (file.major != 0) return {};  // a disk
  const Device device(file.major, file.minor);
  if (auto answer = known(device)) return *std::move(answer);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  const UniqueFd answer_end(ends[0]);
  UniqueFd child_end(ends[1]);
  int raw_pidfd = -1;
  const long child = ::syscall(SYS_clone, CLONE_PIDFD | kExitSignal, nullptr, &raw_pidfd, nullptr, 0UL);
  if (child < 0) return errno_error(errno, "fork");
  if (child == 0) ask_and_leave(path.c_str(), child_end.get());
  UniqueFd pidfd(raw_pidfd);
  child_end.reset();
  pollfd polled{answer_end.get(), POLLIN, 0};
  while (::poll(&polled, 1, static_cast<int>(patience_.count())) < 0 && errno == EINTR) continue;
  Answer answer;
  const bool answered = (polled.revents & POLLIN) != 0 && ::read(answer_end.get(), &answer, sizeof answer) == sizeof answer;
  const bool over = polled.revents != 0;  // it ended, with an answer or without
  if (over) {
    reap(pidfd, 0);
  } else {
    ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0U);
  }
  const std::lock_guard lock(mutex_);
  if (!over) {
    left_behind_.push_back(std::move(pidfd));
    known_[device] = {Kind::kSilent, std::chrono::steady_clock::now()};
    return no_answer();
  }
  if (!answered) return make_error(ErrorKind::kGone, "{}: not looked at", path);
  if (answer.error != 0) return errno_error(answer.error, fmt::format("open {}", path));
  known_[device] = {is_answered_by_others(answer.magic) ? Kind::kOthers : Kind::kLocal, std::chrono::steady_clock::now()};
  return {};
}

Error FileSystems::note_silent(const FileIdentity& file) {
  const std::lock_guard lock(mutex_);
  known_[{file.major, file.minor}] = {Kind::kSilent, std::chrono::steady_clock::now()};
  return no_answer();
}

}  // namespace cicada::process

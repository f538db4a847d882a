// SPDX-License-Identifier: Apache-2.0
// Files as a process sees them: opened below /proc/PID/root, with links resolved inside it. The folder and its mount namespace are
// held, so that a file that is written when the process ends (Java's -XX:+DumpPerfMapAtExit) is still found when it has ended.
// Owns two descriptors. Threads: any.
#pragma once
#include <functional>
#include <string>
#include <utility>

#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "symbolize/files/file_root.h"

namespace cicada::symbolize {

class Target {
 public:
  // `proc` is for tests. Fails: kGone, kPermission.
  static Result<Target> open(Pid pid, const std::string& proc = "/proc");
  Pid pid() const { return pid_; }
  Pid pid_inside() const { return pid_inside_; }  // in its own pid namespace
  uint32_t uid() const { return uid_; }           // effective, as we see it
  // A regular file owned by the target's user or root. `path` is absolute, as the process would write it.
  // Fails: kNotFound, kPermission (owner), kInvalid (not a regular file), kUnsupported (kernel older than 5.6).
  Result<UniqueFd> open_file(const std::string& path) const;
  const FileRoot& root() const { return root_; }
  // Asked with each path before it is opened; its error keeps that from being done (kIo: file systems that may never answer).
  void ask_first(std::function<Result<void>(const std::string& path)> ask) { ask_ = std::move(ask); }
  // Whether the file was written since the process began. True where the beginning is not known.
  bool is_newer(int fd) const;

 private:
  Target() = default;
  Result<void> read_status(const std::string& path);
  void read_beginning(const std::string& path);
  Pid pid_ = 0, pid_inside_ = 0;
  uint32_t uid_ = 0;
  int64_t began_s_ = 0;  // real time; 0: not known
  UniqueFd mount_namespace_;
  FileRoot root_;
  std::function<Result<void>(const std::string& path)> ask_;
};

}  // namespace cicada::symbolize

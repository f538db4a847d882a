// SPDX-License-Identifier: Apache-2.0
// Files of a process, opened below its root with its rights and no others: user, group and further groups for file systems are the process's,
// and no capability is left. So nothing is read that the process could not read, whatever its name leads to. A process that runs with the
// rights of two users (set-user-id) is nobody's.
//
// The root and the working directory, the mount namespace and the rights are taken when this is made: a file that is written when the process
// ends (Java's -XX:+DumpPerfMapAtExit) is still found when it has ended.
//
// A file must be a regular one with one name, the process's own or root's, and not older than the process: others may have left one behind
// for its pid. A symbolic link in the place of the file is refused, one on the way to it stays inside the root.
//
// All this happens in a child (base/disposable_child.h). Where neither disk nor memory answers, but perhaps a program (FUSE, NFS, anything
// stacked on them), the child copies the contents, too, and the file is never held here: even closing it may not return.
// Owns three descriptors. Threads: any.
#pragma once
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/disposable_child.h"
#include "base/process_key.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::process {

struct OpenRequest;

// Whose files are read.
struct UserRights {
  uint32_t uid = 0, gid = 0;
  std::vector<uint32_t> groups = {};
};

class ProcessFiles {
 public:
  static constexpr uint64_t kMaxCopyBytes = 128 << 20;
  static constexpr size_t kMaxNames = 10'000;
  struct File {
    UniqueFd fd;
    bool is_copy = false;  // in memory, as long as the file was, at most kMaxCopyBytes behind `from`
  };

  // `proc` is for tests. Fails: kGone, kPermission (hidden, or the rights of two users).
  static Result<ProcessFiles> open(Pid pid, const std::string& proc = "/proc");
  Pid pid() const { return pid_; }
  Pid pid_inside() const { return pid_inside_; }  // in its own pid namespace
  uint32_t uid() const { return rights_.uid; }    // as we see it
  // `path` as the process would write it: absolute, or in the working directory that it had. Of a copy only what stands from `from` on is there; all, if the file is shorter.
  // Fails: kNotFound (also: older than the process), kPermission (the system's, or owner), kInvalid (not a regular file with one name),
  // kIo (no answer, or `stop` came first).
  Result<File> open_file(DisposableChildren& children, const std::string& path, uint64_t from, const std::stop_token& stop = {}) const;
  // Files that a command of this user left behind: as open_file, below our root, of any age. The names in a directory; at most kMaxNames.
  static Result<File> open_as_user(DisposableChildren& children, const UserRights& user, const std::string& path);
  static Result<std::vector<std::string>> list_as_user(DisposableChildren& children, const UserRights& user, const std::string& path);

 private:
  ProcessFiles() = default;
  Result<void> read_rights(const std::string& status);
  static Result<File> open_as(DisposableChildren& children, OpenRequest request, const std::string& what, const std::stop_token& stop = {});
  Pid pid_ = 0, pid_inside_ = 0;
  UserRights rights_;
  int64_t began_s_ = 0;  // real time
  UniqueFd mount_namespace_, root_, working_directory_;
};

}  // namespace cicada::process

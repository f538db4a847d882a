// SPDX-License-Identifier: Apache-2.0
// Takes from a process everything that reading a file does not need: users and capabilities, files, the network, other processes, new programs.
//
//   const LockDown rules = TRY(LockDown::prepare());   // once, with root's rights
//   rules.leave_namespaces();                           // once, in the parent of those
//   rules.apply(user, socket);                          // in a child: what is left is `socket` and memory
//
// After it the process can read and write what it holds and is handed by its socket, ask for memory that is not executable, and end. Anything else
// ends it (SIGSYS). Each means holds where the kernel has it: what() says which.
//   a user that nobody is, no groups, no capabilities, no new ones · an empty root directory · namespaces without networks and shared memory ·
//   Landlock: no file, no port, no signal · seccomp: the list in filter.cc · limits: no process, no core, kMaxFiles files, kMaxResultBytes in one file, kMaxMemoryBytes · not dumpable: nobody
//   traces it · it ends with who started it
//
// Threads: one, and no other in the process that calls apply().
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/filter.h"

namespace cicada::sandbox {

class LockDown {
 public:
  static constexpr uint64_t kMaxResultBytes = uint64_t{288} << 20;
  static constexpr uint64_t kMaxMemoryBytes = uint64_t{2} << 30;
  static constexpr unsigned kMaxFiles = 64;

  // Fails: the kernel has no seccomp.
  static Result<LockDown> prepare();
  LockDown(LockDown&&) noexcept;
  ~LockDown();
  // Of networks, shared memory and the machine's name, for this process and its children. Needs CAP_SYS_ADMIN.
  void leave_namespaces() const;
  // `user` only tells processes apart. Closes every descriptor but `kept` and the standard ones, which lead nowhere. Ends the process if a means
  // that this kernel has cannot be applied.
  void apply(uint32_t user, int kept) const;
  // The means that hold, for people: "seccomp", "Landlock 6", …
  std::vector<std::string> what() const;

 private:
  explicit LockDown(Filter filter);
  Filter filter_;
  UniqueFd empty_root_;                // none: not allowed to change it
  int landlock_version_ = 0;
  bool may_change_user_ = false;
  std::vector<int> namespaces_;  // that may be left: CLONE_NEW…
};

// The number of the user that processes for `user` run as: nobody's.
uid_t sandbox_user(uint32_t user);
uid_t reader_user(pid_t pid);    // of a process that reads for root; no parser's
bool is_reader_user();           // we are one
bool may_become_sandbox_user();  // we have the capabilities, and our user namespace knows the number

}  // namespace cicada::sandbox

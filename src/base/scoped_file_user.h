// SPDX-License-Identifier: Apache-2.0
// The calling thread opens files as another user would: user, group and further groups for file systems, and no capability that overrides the files'
// modes. Those of the other threads stay. Ended by the same thread.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace cicada {

class ScopedFileUser {
 public:
  static constexpr gid_t kNoGroup = 65534;
  explicit ScopedFileUser(uid_t user, gid_t group = kNoGroup, std::span<const gid_t> further = {});
  ~ScopedFileUser();
  ScopedFileUser(const ScopedFileUser&) = delete;
  ScopedFileUser& operator=(const ScopedFileUser&) = delete;
  // False: we may not (CAP_SETUID, CAP_SETGID), and open as ourselves.
  bool holds() const { return holds_; }

 private:
  void restore_user();
  bool changed_ = false, holds_ = true;
  gid_t group_ = 0;
  std::vector<gid_t> groups_;
  uint32_t capabilities_ = 0;  // that were effective, of those that are taken away
};

}  // namespace cicada

// SPDX-License-Identifier: Apache-2.0
// Who typed the command: under sudo the user behind it, otherwise the effective user. Commands run as this user,
// outputs belong to this user.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace cicada::cli {

class InvokingUser {
 public:
  // The effective user, or the one in SUDO_UID/SUDO_GID (doas: DOAS_USER) when running as root through it.
  static InvokingUser detect();
  // root stays root: --as-root.
  static InvokingUser effective();

  // True when commands must change identity before they run.
  bool through_sudo() const { return through_sudo_; }
  uid_t uid() const { return uid_; }
  gid_t gid() const { return gid_; }
  const std::vector<gid_t>& groups() const { return groups_; }  // supplementary
  const std::string& name() const { return name_; }

  // Makes a file that cicada wrote theirs; nothing to do unless through_sudo(). A symbolic link is not followed.
  Result<void> give(const std::string& path) const;

  // This process is the user's from now on: before files are read that others may have written. Kept is the right to see kernel addresses
  // (CAP_SYSLOG), by which frames of a killed recording are named. Nothing to do unless through_sudo(). Before any thread is started.
  Result<void> become() const;

  // This process' environment as the user would have it: HOME, USER, LOGNAME and SHELL are theirs, SUDO_* is gone.
  std::vector<std::string> environment() const;

 private:
  bool through_sudo_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
  std::string name_, home_, shell_;
};

}  // namespace cicada::cli

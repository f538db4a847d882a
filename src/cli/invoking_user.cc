// SPDX-License-Identifier: Apache-2.0
#include "cli/invoking_user.h"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/caller.h"
#include "sandbox/read_only.h"

namespace cicada::cli {
namespace {

constexpr int kMaxGroups = 65536;  // the kernel's NGROUPS_MAX

}  // namespace

InvokingUser InvokingUser::effective() {
  InvokingUser user;
  user.uid_ = ::geteuid();
  user.gid_ = ::getegid();
  return user;
}

InvokingUser InvokingUser::detect() {
  InvokingUser user = effective();
  const auto caller = find_caller();
  if (!caller) return user;
  user.uid_ = caller->uid;
  user.gid_ = caller->gid;
  const passwd* const entry = ::getpwuid(user.uid_);
  user.through_sudo_ = true;
  if (entry == nullptr) {  // a uid without an entry: only the ids can be set
    user.groups_ = {user.gid_};
    return user;
  }
  user.name_ = entry->pw_name;
  user.home_ = entry->pw_dir;
  user.shell_ = entry->pw_shell;
  int count = 64;
  user.groups_.resize(static_cast<size_t>(count));
  while (::getgrouplist(user.name_.c_str(), user.gid_, user.groups_.data(), &count) < 0 && count <= kMaxGroups) {
    user.groups_.resize(static_cast<size_t>(count));
  }
  user.groups_.resize(static_cast<size_t>(count));
  return user;
}

Result<void> InvokingUser::give(const std::string& path) const {
  if (!through_sudo_ || path == "-") return {};
  if (::lchown(path.c_str(), uid_, gid_) != 0)
    return errno_error(errno, fmt::format("{}: cannot give it to {}", path, name_));
  return {};
}

Result<void> InvokingUser::become() const {
  if (!through_sudo_) return {};
  const std::vector<std::string> theirs = environment();
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0 || ::setgroups(groups_.size(), groups_.data()) != 0 || ::setresgid(gid_, gid_, gid_) != 0 ||
      ::setresuid(uid_, uid_, uid_) != 0)
    return errno_error(errno, fmt::format("become user {}", uid_));
  TRY(sandbox::keep_syslog_only());
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::clearenv();
  for (const std::string& variable : theirs) {
    const size_t equals = variable.find('=');
    if (equals != std::string::npos) ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  return {};
}

std::vector<std::string> InvokingUser::environment() const {
  std::vector<std::string> variables;
  const std::array<std::pair<std::string_view, const std::string*>, 4> theirs = {
      {{"HOME=", &home_}, {"USER=", &name_}, {"LOGNAME=", &name_}, {"SHELL=", &shell_}}};
  for (char** entry = ::environ; *entry != nullptr; entry++) {
    const std::string_view variable = *entry;
    if (through_sudo_) {
      if (variable.starts_with("SUDO_") || variable.starts_with("DOAS_") || variable.starts_with("MAIL=")) continue;
      bool replaced = false;
      for (const auto& [name, value] : theirs) replaced |= !value->empty() && variable.starts_with(name);
      if (replaced) continue;
    }
    variables.emplace_back(variable);
  }
  if (through_sudo_) {
    for (const auto& [name, value] : theirs) {
      if (!value->empty()) variables.push_back(std::string(name) + *value);
    }
  }
  return variables;
}

}  // namespace cicada::cli

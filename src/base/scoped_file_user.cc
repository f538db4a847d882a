// SPDX-License-Identifier: Apache-2.0
// By system calls: those of the C library would change all threads.
#include "base/scoped_file_user.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"

namespace cicada {
namespace {

constexpr uint32_t kOverrides = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;

// Both answer what was before, and -1 only asks.
bool set_file_group(gid_t group) {
  ::syscall(SYS_setfsgid, group);
  return static_cast<gid_t>(::syscall(SYS_setfsgid, -1)) == group;
}
bool set_file_user(uid_t user) {
  ::syscall(SYS_setfsuid, user);
  return static_cast<uid_t>(::syscall(SYS_setfsuid, -1)) == user;
}

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  bool get() { return ::syscall(SYS_capget, &header, data) == 0; }
  bool set() { return ::syscall(SYS_capset, &header, data) == 0; }
};

}  // namespace

ScopedFileUser::ScopedFileUser(uid_t user, gid_t group, std::span<const gid_t> further) {
  if (Capabilities now; now.get() && (now.data[0].effective & kOverrides) != 0) {
    const uint32_t effective = now.data[0].effective & kOverrides;
    now.data[0].effective &= ~kOverrides;
    if (now.set()) capabilities_ = effective;
  }
  if (user == ::geteuid()) return;
  groups_.resize(static_cast<size_t>(::getgroups(0, nullptr)));
  ::getgroups(static_cast<int>(groups_.size()), groups_.data());
  group_ = ::getegid();
  holds_ = changed_ = ::syscall(SYS_setgroups, further.size(), further.data()) == 0;
  if (!changed_ || (set_file_group(group) && set_file_user(user))) return;
  restore_user();
  holds_ = false;
}

ScopedFileUser::~ScopedFileUser() {
  restore_user();
  if (capabilities_ == 0) return;
  Capabilities now;
  CHECK(now.get());
  now.data[0].effective |= capabilities_;
  CHECK(now.set());
}

void ScopedFileUser::restore_user() {
  if (!changed_) return;
  changed_ = false;
  CHECK(set_file_user(::geteuid()) && set_file_group(group_) && ::syscall(SYS_setgroups, groups_.size(), groups_.data()) == 0);
}

}  // namespace cicada

// SPDX-License-Identifier: Apache-2.0
#include "sandbox/lock_down.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "sandbox/landlock.h"

namespace cicada::sandbox {
namespace {

constexpr uid_t kFirstUser = 0x70000000, kUsers = 0x0f000000, kReaders = 0x00800000;  // readers' behind parsers'

// A directory that has been removed: nothing is in it, and nothing can be made in it.
UniqueFd make_empty_root() {
  std::array<char, 32> name{"/tmp/.cicada-empty-XXXXXX"};
  if (::mkdtemp(name.data()) == nullptr) return {};
  UniqueFd directory(::open(name.data(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return ::rmdir(name.data()) == 0 ? std::move(directory) : UniqueFd();
}

bool has_capability(unsigned which) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held{};
  return ::syscall(SYS_capget, &head, held.data()) == 0 && (held[which / 32].effective >> (which % 32) & 1) != 0;
}

// Does our user namespace know the numbers from kFirstUser on?
bool maps_users(const char* file) {
  std::ifstream lines(file);
  for (uint64_t inside, outside, count; lines >> inside >> outside >> count;) {
    if (inside <= kFirstUser && inside + count >= uint64_t{kFirstUser} + kUsers + kReaders) return true;
  }
  return false;
}

[[noreturn]] void end() { ::_exit(120); }
void must(bool done) {
  if (!done) end();
}

void limit(int resource, uint64_t most) {
  const rlimit limits{most, most};
  must(::setrlimit(static_cast<__rlimit_resource_t>(resource), &limits) == 0);
}

}  // namespace

uid_t sandbox_user(uint32_t user) { return kFirstUser + user % kUsers; }
uid_t reader_user(pid_t pid) { return kFirstUser + kUsers + static_cast<uid_t>(pid) % kReaders; }
bool is_reader_user() { return ::geteuid() - kFirstUser - kUsers < kReaders; }
bool may_become_sandbox_user() {
  return has_capability(CAP_SETUID) && has_capability(CAP_SETGID) && maps_users("/proc/self/uid_map") && maps_users("/proc/self/gid_map");
}

LockDown::LockDown(Filter filter) : filter_(std::move(filter)), landlock_version_(landlock_version()) {}
LockDown::LockDown(LockDown&&) noexcept = default;
LockDown::~LockDown() = default;

Result<LockDown> LockDown::prepare() {
  LockDown rules(TRY(Filter::of_parsers()));
  rules.may_change_user_ = may_become_sandbox_user();
  if (has_capability(CAP_SYS_CHROOT)) rules.empty_root_ = make_empty_root();
  if (has_capability(CAP_SYS_ADMIN)) {
    for (const auto& [which, name] : {std::pair(CLONE_NEWNET, "net"), {CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"}}) {
      std::ifstream limit(fmt::format("/proc/sys/user/max_{}_namespaces", name));
      if (long most = 0; limit >> most && most > 0) rules.namespaces_.push_back(which);
    }
  }
  return rules;
}

// Where one cannot be left, the filter of system calls still holds.
void LockDown::leave_namespaces() const {
  for (const int which : namespaces_) static_cast<void>(::unshare(which));
}

void LockDown::apply(uint32_t user, int kept) const {
  if (empty_root_) must(::fchdir(empty_root_.get()) == 0 && ::chroot(".") == 0);
  if (may_change_user_) {
    const uid_t nobody = sandbox_user(user);
    must(::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 && ::setresuid(nobody, nobody, nobody) == 0);
  }
  if (kept > 3) must(::syscall(SYS_close_range, 3U, static_cast<unsigned>(kept - 1), 0U) == 0);
  must(::syscall(SYS_close_range, static_cast<unsigned>(kept + 1), ~0U, 0U) == 0);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  must(::syscall(SYS_capset, &head, none.data()) == 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  limit(RLIMIT_NPROC, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_MEMLOCK, 0);
  limit(RLIMIT_NOFILE, kMaxFiles);
  limit(RLIMIT_FSIZE, kMaxResultBytes);
  limit(RLIMIT_DATA, kMaxMemoryBytes);
  must(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
  must(apply_landlock(Files::kNone) && filter_.apply());
}

std::vector<std::string> LockDown::what() const {
  std::vector<std::string> means{"seccomp", "limits"};
  if (landlock_version_ > 0) means.push_back(fmt::format("Landlock {}", landlock_version_));
  if (may_change_user_) means.emplace_back("a user of its own");
  if (empty_root_) means.emplace_back("an empty root directory");
  if (std::find(namespaces_.begin(), namespaces_.end(), CLONE_NEWNET) != namespaces_.end()) means.emplace_back("no network");
  return means;
}

}  // namespace cicada::sandbox

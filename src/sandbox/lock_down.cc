// SPDX-License-Identifier: Apache-2.0
#include "sandbox/lock_down.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
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
#include <memory>
#include <utility>

namespace cicada::sandbox {
namespace {

// linux/landlock.h of newer kernels. By version: which rights to files there are; from 4 on ports, from 6 on signals and abstract sockets.
struct LandlockRules {
  uint64_t files = 0, ports = 0, scopes = 0;
};
constexpr uid_t kFirstUser = 0x70000000, kUsers = 0x0f000000;
constexpr std::array<unsigned, 6> kFileRights{13, 14, 15, 15, 16, 16};

LandlockRules rules_of(int version) {
  LandlockRules rules;
  const size_t known = std::min<size_t>(static_cast<size_t>(version), kFileRights.size());
  rules.files = (uint64_t{1} << kFileRights[known - 1]) - 1;
  if (version >= 4) rules.ports = 3;
  if (version >= 6) rules.scopes = 3;
  return rules;
}

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// What reading a mapped file, asking for memory and answering need. fstat is newfstatat in the C library, whose path the filter cannot see: the root
// directory is empty. Limits may be lowered and raised again up to the hard ones, its own only.
bool add_rules(scmp_filter_ctx filter) {
  constexpr std::array kAllowed{SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(lseek),
                                SCMP_SYS(ftruncate), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(close), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg),
                                SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom),
                                SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
                                SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(restart_syscall),
                                SCMP_SYS(exit), SCMP_SYS(exit_group)};
  for (const int call : kAllowed) {
    if (seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 0, nullptr) != 0) return false;
  }
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)}) {
    if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) != 0) return false;
  }
  return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_EQ, 0)) == 0;
}

Result<std::vector<unsigned char>> make_filter() {
  const Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS), &seccomp_release);
  const UniqueFd file(::memfd_create("cicada-filter", MFD_CLOEXEC));
  if (filter == nullptr || !add_rules(filter.get()) || !file || seccomp_export_bpf(filter.get(), file.get()) != 0)
    return make_error(ErrorKind::kUnsupported, "no seccomp filter can be made");
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::vector<unsigned char> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  if (bytes.empty() || ::pread(file.get(), bytes.data(), bytes.size(), 0) != size) return errno_error(errno, "reading a seccomp filter");
  return bytes;
}

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
    if (inside <= kFirstUser && inside + count >= uint64_t{kFirstUser} + kUsers) return true;
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

LockDown::LockDown() = default;
LockDown::LockDown(LockDown&&) noexcept = default;
LockDown::~LockDown() = default;

Result<LockDown> LockDown::prepare() {
  LockDown rules;
  rules.filter_ = TRY(make_filter());
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U);
  rules.landlock_version_ = version > 0 ? static_cast<int>(version) : 0;
  rules.may_change_user_ = has_capability(CAP_SETUID) && has_capability(CAP_SETGID) && maps_users("/proc/self/uid_map") && maps_users("/proc/self/gid_map");
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
  if (landlock_version_ > 0) {
    const LandlockRules rules = rules_of(landlock_version_);
    const UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0U)));
    must(ruleset && ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0U) == 0);
  }
  std::vector<unsigned char> copy = filter_;
  const sock_fprog program{static_cast<unsigned short>(copy.size() / sizeof(sock_filter)), reinterpret_cast<sock_filter*>(copy.data())};
  must(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
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

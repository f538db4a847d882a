// SPDX-License-Identifier: Apache-2.0
#include "sandbox/read_only.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>

#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/lock_down.h"

namespace cicada::sandbox {

Result<void> keep_syslog_only() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held{};
  if (::syscall(SYS_capget, &head, held.data()) != 0) return errno_error(errno, "read our capabilities");
  const uint32_t syslog = held[CAP_TO_INDEX(CAP_SYSLOG)].permitted & CAP_TO_MASK(CAP_SYSLOG);
  std::array<__user_cap_data_struct, 2> kept{};
  kept[CAP_TO_INDEX(CAP_SYSLOG)].permitted = kept[CAP_TO_INDEX(CAP_SYSLOG)].effective = syslog;
  if (::syscall(SYS_capset, &head, kept.data()) != 0) return errno_error(errno, "give up capabilities");
  return {};
}

Result<void> become_read_only(uint64_t memory, Network network) {
  if (!kLocksDown) return {};
  const Filter filter = TRY(Filter::of_readers(network));
  if (::geteuid() == 0 && may_become_sandbox_user()) {
    const uid_t nobody = reader_user(::getpid());
    if (::prctl(PR_SET_KEEPCAPS, 1) != 0 || ::setgroups(0, nullptr) != 0 || ::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0)
      return errno_error(errno, "become a user that nobody is");
  }
  TRY(keep_syslog_only());
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  rlimit most{};
  ::getrlimit(RLIMIT_DATA, &most);
  most.rlim_cur = most.rlim_max = std::min<rlim_t>(memory, most.rlim_max);
  const rlimit none{};
  if (::setrlimit(RLIMIT_DATA, &most) != 0 || ::setrlimit(RLIMIT_CORE, &none) != 0) return errno_error(errno, "limit our memory");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, network == Network::kTerminal ? SIGTERM : SIGKILL, 0, 0, 0) != 0 ||
      !apply_landlock(Files::kToRead) || (!filter.apply() && errno != EINVAL))
    return errno_error(errno, "give up all but reading");
  return {};
}

Result<void> open_no_more() {
  if (!kLocksDown) return {};
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 || errno == EINVAL || errno == ENOSYS) return {};
  return errno_error(errno, "give up opening files");
}

}  // namespace cicada::sandbox

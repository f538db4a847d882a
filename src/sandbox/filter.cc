// SPDX-License-Identifier: Apache-2.0
#include "sandbox/filter.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <memory>

#include "base/unique_fd.h"

namespace cicada::sandbox {
namespace {

using Rules = std::unique_ptr<void, decltype(&seccomp_release)>;

bool allow(scmp_filter_ctx rules, std::initializer_list<int> calls) {
  for (const int call : calls) {
    if (seccomp_rule_add_array(rules, SCMP_ACT_ALLOW, call, 0, nullptr) != 0) return false;
  }
  return true;
}
bool allow_if(scmp_filter_ctx rules, int call, scmp_arg_cmp condition) { return seccomp_rule_add(rules, SCMP_ACT_ALLOW, call, 1, condition) == 0; }

// fstat is newfstatat in the C library, whose path a filter cannot see: a parser's root directory is empty. Limits may be lowered and raised again up
// to the hard ones, its own only.
bool add_common_calls(scmp_filter_ctx rules) {
  return allow(rules, {SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(pwrite64), SCMP_SYS(writev), SCMP_SYS(lseek),
                       SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(close), SCMP_SYS(recvmsg), SCMP_SYS(munmap),
                       SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom), SCMP_SYS(clock_gettime),
                       SCMP_SYS(gettimeofday), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(getpid),
                       SCMP_SYS(gettid), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
                       SCMP_SYS(exit_group)}) &&
         // TCP's "fast open" connects in sending, past whoever watches over connect().
         allow_if(rules, SCMP_SYS(sendmsg), SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)) &&
         allow_if(rules, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) && allow_if(rules, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0));
}

bool add_parsers_calls(scmp_filter_ctx rules) {
  return allow(rules, {SCMP_SYS(ftruncate), SCMP_SYS(sysinfo)}) &&  // qsort(3) asks how much memory there is
         allow_if(rules, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

// Memory that is shared is in no limit. Of clone3 a filter cannot see the flags: the C library takes clone where a kernel has none.
bool add_readers_calls(scmp_filter_ctx rules) {
  constexpr uint64_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  constexpr uint64_t kTcgets2 = 0x802c542a, kTcsetsw2 = 0x402c542c;  // of newer C libraries
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  bool done = allow(rules, {SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat),
                            SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(getcwd),
                            SCMP_SYS(fadvise64), SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(pipe2), SCMP_SYS(poll), SCMP_SYS(ppoll),
                            SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address), SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigtimedwait),
                            SCMP_SYS(rt_sigpending), SCMP_SYS(getpriority), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
                            SCMP_SYS(nanosleep), SCMP_SYS(getrusage), SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getcpu), SCMP_SYS(getppid),
                            SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid)});
  for (const uint64_t command : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL}) done = done && allow_if(rules, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, command));
  for (const uint64_t request : {uint64_t{TCGETS}, kTcgets2, uint64_t{TIOCGWINSZ}}) done = done && allow_if(rules, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, request));
  // A terminal that was changed before is given back as it was. Nothing that types for its user (TIOCSTI) or takes it.
  for (const uint64_t request : {uint64_t{TCSETSW}, kTcsetsw2})
    done = done && seccomp_rule_add(rules, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 2, SCMP_A0(SCMP_CMP_LE, STDERR_FILENO), SCMP_A1(SCMP_CMP_EQ, request)) == 0;
  return done && allow_if(rules, SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, kWrites, 0)) &&
         allow_if(rules, SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, kWrites, 0)) &&
         allow_if(rules, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, kNamespaces | CLONE_THREAD, CLONE_THREAD)) &&
         allow_if(rules, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, static_cast<uint64_t>(::getpid()))) &&
         allow_if(rules, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)) &&
         seccomp_rule_add(rules, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0)) == 0 &&
         seccomp_rule_add(rules, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

// sendto with an address could reach somebody else. Another filter can only forbid more.
bool add_calls_of_talkers(scmp_filter_ctx rules) {
  return allow(rules, {SCMP_SYS(recvfrom), SCMP_SYS(shutdown), SCMP_SYS(eventfd2), SCMP_SYS(seccomp)}) &&
         seccomp_rule_add(rules, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 2, SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0), SCMP_A4(SCMP_CMP_EQ, 0)) == 0;
}

// Of options one: a receive buffer, say, is memory that is in no limit.
bool add_calls_of_servers(scmp_filter_ctx rules) {
  return allow(rules, {SCMP_SYS(accept4)}) &&
         seccomp_rule_add(rules, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2, SCMP_A1(SCMP_CMP_EQ, IPPROTO_TCP), SCMP_A2(SCMP_CMP_EQ, TCP_NODELAY)) == 0;
}

// For a screen (top/screen.cc): to wait for keys, to forget what was typed before, and to tell another terminal its size.
bool add_calls_of_terminals(scmp_filter_ctx rules) {
  return allow(rules, {SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl)}) && allow_if(rules, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, uint64_t{TCFLSH})) &&
         allow_if(rules, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, uint64_t{TIOCSWINSZ}));
}

bool add_calls_for(scmp_filter_ctx rules, Network network) {
  if (network == Network::kNone) return true;
  return add_calls_of_talkers(rules) && (network == Network::kAccepts ? add_calls_of_servers(rules) : add_calls_of_terminals(rules));
}

Result<std::vector<unsigned char>> export_program(const Rules& rules, bool complete) {
  const UniqueFd file(::memfd_create("cicada-filter", MFD_CLOEXEC));
  if (!complete || !file || seccomp_export_bpf(rules.get(), file.get()) != 0) return make_error(ErrorKind::kUnsupported, "no seccomp filter can be made");
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  std::vector<unsigned char> bytes(size > 0 ? static_cast<size_t>(size) : 0);
  if (bytes.empty() || ::pread(file.get(), bytes.data(), bytes.size(), 0) != size) return errno_error(errno, "reading a seccomp filter");
  return bytes;
}

}  // namespace

Result<Filter> Filter::of_parsers() {
  const Rules rules(seccomp_init(SCMP_ACT_KILL_PROCESS), &seccomp_release);
  return Filter(TRY(export_program(rules, rules != nullptr && add_common_calls(rules.get()) && add_parsers_calls(rules.get()))));
}

Result<Filter> Filter::of_readers(Network network) {
  const Rules rules(seccomp_init(SCMP_ACT_ERRNO(EPERM)), &seccomp_release);
  return Filter(TRY(export_program(rules, rules != nullptr && add_common_calls(rules.get()) && add_readers_calls(rules.get()) &&
                                              add_calls_for(rules.get(), network))));
}

bool Filter::apply() const {
  std::vector<unsigned char> copy = program_;
  const sock_fprog program{static_cast<unsigned short>(copy.size() / sizeof(sock_filter)), reinterpret_cast<sock_filter*>(copy.data())};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace cicada::sandbox

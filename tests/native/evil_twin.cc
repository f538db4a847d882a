// SPDX-License-Identifier: Apache-2.0
// The parser's evil twin: a process locked down as parsers are, by the same zygote, that tries what a parser taken over would try. Each attempt has a
// process of its own; it must fail, or end the process. How parsers behave that do not try to get out: evil_answers.cc.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sandbox/zygote.h"

namespace {

using cicada::Result;
using cicada::sandbox::Channel;
using cicada::sandbox::Message;
using cicada::sandbox::Zygote;

struct Attempt {
  const char* name;
  bool (*run)(const Message& message);  // true: it succeeded
};

bool works(long result) { return result >= 0; }
int socket_of(const Message& message) { return static_cast<int>(message.numbers[4]); }  // as the twin wrote it

// As a 32-bit program calls, whose numbers are others. Its pointers are short, so the name must lie low.
bool open_by_32_bit_call(const char* name) {
  void* low = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) return false;
  std::strcpy(static_cast<char*>(low), name);
  long result = 5;  // open
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(O_RDONLY), "d"(0) : "memory", "r8", "r9", "r10", "r11");
  return static_cast<int>(result) >= 0;
}

const std::vector<Attempt> kAttempts = {
    {"open /etc/shadow", [](const Message&) { return works(::open("/etc/shadow", O_RDONLY)); }},
    {"open /etc/passwd", [](const Message&) { return works(::open("/etc/passwd", O_RDONLY)); }},
    {"openat2 /proc/self/maps", [](const Message&) { uint64_t how[3] = {}; return works(::syscall(SYS_openat2, AT_FDCWD, "/proc/self/maps", how, sizeof how)); }},
    {"create a file", [](const Message&) { return works(::creat("/tmp/evil", 0600)); }},
    {"stat /etc", [](const Message&) { struct stat st {}; return works(::stat("/etc", &st)); }},
    {"reopen the handed file for writing", [](const Message& m) { char name[32]; std::snprintf(name, sizeof name, "/proc/self/fd/%d", m.fds[0].get()); return works(::open(name, O_RDWR)); }},
    {"write the handed file", [](const Message& m) { return works(::pwrite(m.fds[0].get(), "x", 1, 0)); }},
    {"change the handed file's mode", [](const Message& m) { return works(::fchmod(m.fds[0].get(), 0777)); }},
    {"map the handed file executable", [](const Message& m) { return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, m.fds[0].get(), 0) != MAP_FAILED; }},
    {"map executable memory", [](const Message&) { return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
    {"make memory executable", [](const Message&) { void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return works(::mprotect(at, 4096, PROT_READ | PROT_EXEC)); }},
    {"fork", [](const Message&) { return works(::syscall(SYS_fork)); }},
    {"clone a thread", [](const Message&) { return works(::syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0)); }},
    {"clone3", [](const Message&) { return works(::syscall(SYS_clone3, nullptr, 0)); }},
    {"execve /bin/sh", [](const Message&) { char* const none[] = {nullptr}; return works(::execve("/bin/sh", none, none)); }},
    {"execveat the handed file", [](const Message& m) { char* const none[] = {nullptr}; return works(::syscall(SYS_execveat, m.fds[0].get(), "", none, none, AT_EMPTY_PATH)); }},
    {"ptrace the collector", [](const Message& m) { return works(::ptrace(PTRACE_ATTACH, static_cast<pid_t>(m.numbers[1]), nullptr, nullptr)); }},
    {"read the collector's memory", [](const Message& m) { char byte; iovec to{&byte, 1}, from{reinterpret_cast<void*>(m.numbers[2]), 1}; return works(::process_vm_readv(static_cast<pid_t>(m.numbers[1]), &to, 1, &from, 1, 0)); }},
    {"signal the collector", [](const Message& m) { return works(::kill(static_cast<pid_t>(m.numbers[1]), SIGCONT)); }},
    {"signal everybody", [](const Message&) { return works(::kill(-1, SIGCONT)); }},
    {"pidfd_open the collector", [](const Message& m) { return works(::syscall(SYS_pidfd_open, m.numbers[1], 0)); }},
    {"socket, TCP", [](const Message&) { return works(::socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket, Unix", [](const Message&) { return works(::socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"socketpair", [](const Message&) { int ends[2]; return works(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }},
    {"bpf", [](const Message&) { bpf_attr attr{}; return works(::syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr)); }},
    {"perf_event_open", [](const Message&) { return works(::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)); }},
    {"setuid 0", [](const Message&) { return works(::syscall(SYS_setuid, 0)); }},
    {"a user namespace", [](const Message&) { return works(::unshare(CLONE_NEWUSER)); }},
    {"mount", [](const Message&) { return works(::mount("none", "/", "tmpfs", 0, nullptr)); }},
    {"chroot out", [](const Message&) { return works(::chroot("/")); }},
    {"io_uring", [](const Message&) { char parameters[256] = {}; return works(::syscall(SYS_io_uring_setup, 1, parameters)); }},
    {"keyctl", [](const Message&) { return works(::syscall(SYS_keyctl, 0, -3, 0)); }},
    {"shared memory of System V", [](const Message&) { return works(::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)); }},
    {"inotify", [](const Message&) { return works(::inotify_init1(0)); }},
    {"ioctl on the socket", [](const Message& m) { int left; return works(::ioctl(socket_of(m), FIONREAD, &left)); }},
    {"more memory than its limit", [](const Message&) { return ::mmap(nullptr, size_t{3} << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
    {"raise its limits", [](const Message&) { const rlimit all{RLIM_INFINITY, RLIM_INFINITY}; return works(::setrlimit(RLIMIT_DATA, &all)); }},
    {"the limits of the collector", [](const Message& m) { rlimit now{}; return works(::prlimit(static_cast<pid_t>(m.numbers[1]), RLIMIT_DATA, nullptr, &now)); }},
    {"be dumpable", [](const Message&) { return works(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }},
    {"a 32-bit open", [](const Message&) { return open_by_32_bit_call("/etc/passwd"); }},
    {"a call of the x32 kind", [](const Message&) { return works(::syscall(0x40000000 | SYS_getpid)); }},
    {"memory in a file", [](const Message&) { return works(::memfd_create("x", 0)); }},
    {"write the collector's memory", [](const Message& m) { char byte = 'x'; iovec from{&byte, 1}, to{reinterpret_cast<void*>(m.numbers[2]), 1}; return works(::process_vm_writev(static_cast<pid_t>(m.numbers[1]), &from, 1, &to, 1, 0)); }},
    {"be traced", [](const Message&) { return works(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }},
    {"signal a thread of the collector", [](const Message& m) { return works(::syscall(SYS_tgkill, m.numbers[1], m.numbers[1], 0)); }},
    {"a descriptor of the collector's", [](const Message& m) { return works(::syscall(SYS_pidfd_getfd, socket_of(m), 0, 0)); }},
    {"enter a namespace", [](const Message& m) { return works(::setns(m.fds[0].get(), 0)); }},
    {"the handed file's handle", [](const Message& m) { struct { unsigned bytes = 128; int kind = 0; char data[128] = {}; } handle; int mount; return works(::syscall(SYS_name_to_handle_at, m.fds[0].get(), "", &handle, &mount, AT_EMPTY_PATH)); }},
    {"another name of the handed file", [](const Message& m) { return works(::linkat(m.fds[0].get(), "", AT_FDCWD, "evil", AT_EMPTY_PATH)); }},
    {"make a directory", [](const Message&) { return works(::mkdir("evil", 0700)); }},
    {"make a link", [](const Message&) { return works(::symlink("/etc", "evil")); }},
    {"remove a file", [](const Message&) { return works(::unlink("/etc/passwd")); }},
    {"the times of the handed file", [](const Message& m) { return works(::futimens(m.fds[0].get(), nullptr)); }},
    {"an attribute of the handed file", [](const Message& m) { return works(::fsetxattr(m.fds[0].get(), "user.x", "x", 1, 0)); }},
    {"cut the handed file off", [](const Message& m) { return works(::ftruncate(m.fds[0].get(), 0)); }},
    {"lock the handed file", [](const Message& m) { return works(::flock(m.fds[0].get(), LOCK_SH | LOCK_NB)); }},
    {"be told of the handed file", [](const Message& m) { return works(::fcntl(m.fds[0].get(), F_SETOWN, ::getpid())); }},
    {"bind its socket", [](const Message& m) { sockaddr_un at{AF_UNIX, {"evil"}}; return works(::bind(socket_of(m), reinterpret_cast<sockaddr*>(&at), sizeof at)); }},
    {"an option of its socket", [](const Message& m) { const int on = 1; return works(::setsockopt(socket_of(m), SOL_SOCKET, SO_PASSCRED, &on, sizeof on)); }},
    {"an event queue", [](const Message&) { return works(::syscall(SYS_epoll_create1, 0)); }},
    {"page faults of its own", [](const Message&) { return works(::syscall(SYS_userfaultfd, O_NONBLOCK)); }},
    {"a timer", [](const Message&) { return works(::syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0)); }},
    {"a message queue", [](const Message&) { return works(::syscall(SYS_msgget, IPC_PRIVATE, 0600)); }},
    {"the kernel's log", [](const Message&) { return works(::syscall(SYS_syslog, 10, nullptr, 0)); }},
    {"the machine's name", [](const Message&) { return works(::sethostname("", 0)); }},
    {"Ctrl-Alt-Del", [](const Message&) { return works(::syscall(SYS_reboot, 0xfee1dead, 672274793, 0, nullptr)); }},
    {"the clock", [](const Message&) { const timespec now{::time(nullptr), 0}; return works(::syscall(SYS_clock_settime, CLOCK_REALTIME, &now)); }},
    {"be scheduled first", [](const Message&) { const sched_param first{1}; return works(::sched_setscheduler(0, SCHED_FIFO, &first)); }},
    {"the collector's claim to the CPU", [](const Message& m) { return works(::setpriority(PRIO_PROCESS, static_cast<id_t>(m.numbers[1]), 19)); }},
    {"the collector's memory when it is short", [](const Message&) { return works(::open("/proc/self/oom_score_adj", O_WRONLY)); }},
    {"pages that stay", [](const Message&) { return works(::mlockall(MCL_CURRENT)); }},
    {"a ruleset of Landlock", [](const Message&) { return works(::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1)); }},
    {"a filter of its own", [](const Message&) { return works(::syscall(SYS_seccomp, 2, 0, nullptr)); }},
    {"no end with the collector", [](const Message&) { return works(::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)); }},
    {"a privileged processor's port", [](const Message&) { return works(::syscall(SYS_iopl, 3)); }},
    {"root's environment", [](const Message&) { return environ[0] != nullptr; }},
    {"the standard output", [](const Message& m) { struct stat null {}, out {}; ::fstat(1, &out); null.st_rdev = m.numbers[3]; return out.st_rdev != null.st_rdev; }},
};

// What a parser does must still work: otherwise everything above would pass for nothing.
bool ordinary(const Message& message) {
  char byte = 0;
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, message.fds[0].get(), 0);
  std::vector<char> memory(64 << 20, 'x');
  return mapped != MAP_FAILED && ::pread(message.fds[0].get(), &byte, 1, 0) == 1 && byte == *static_cast<char*>(mapped) && memory.back() == 'x';
}

void twin(Channel channel) {
  auto message = channel.receive(true);
  if (!message || message->fds.size() != 1) return;
  message->numbers[4] = static_cast<uint64_t>(channel.fd());
  const size_t which = message->numbers[0];
  Message answer;
  answer.kind = (which == kAttempts.size() ? ordinary(*message) : kAttempts[which].run(*message)) ? 1 : 2;
  static_cast<void>(channel.send(answer));
}

// 1: it succeeded. 2: it failed. 0: it ended the process.
Result<uint32_t> ask(Zygote& zygote, size_t which) {
  static char byte = 'c';
  Zygote::Child child = TRY(zygote.spawn(1000));
  const cicada::UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat null {};
  ::stat("/dev/null", &null);
  Message message;
  message.numbers = {which, static_cast<uint64_t>(::getpid()), reinterpret_cast<uint64_t>(&byte), null.st_rdev, 0};
  TRY(child.channel.send(message, {file.get()}));
  const auto answer = child.channel.receive(false, Channel::Clock::now() + std::chrono::seconds(180));
  return answer ? answer->kind : 0;
}

// Is the child in the namespace that this process is in?
bool shares(Zygote& zygote, const char* kind) {
  const auto child = zygote.spawn(1000);
  struct stat ours {}, its {};
  const std::string file = std::string("/ns/") + kind;
  if (!child || ::stat(("/proc/self" + file).c_str(), &ours) != 0) return false;
  return ::stat(("/proc/" + std::to_string(child->pid) + file).c_str(), &its) != 0 || its.st_ino == ours.st_ino;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return cicada::sandbox::run_zygote(&twin, &twin);
  ::setenv("SECRET", "of root", 1);
  ::unsetenv("LD_LIBRARY_PATH");
  auto zygote = Zygote::start({"/proc/self/exe", "zygote"});
  if (!zygote) return std::fprintf(stderr, "no zygote: %s\n", zygote.error().message().c_str()), 1;
  int failed = 0;
  for (const char* kind : {"net", "ipc", "uts"}) {
    const bool shared = shares(**zygote, kind);
    std::printf("%-8s the machine's %s namespace: %s\n", shared ? "WRONG" : "ok", kind, shared ? "it is there" : "not there");
    failed += shared;
  }
  for (size_t i = 0; i <= kAttempts.size(); ++i) {
    const bool may = i == kAttempts.size();
    const char* name = may ? "read, map, ask for memory" : kAttempts[i].name;
    const auto said = ask(**zygote, i);
    const bool right = said && (may ? *said == 1 : *said != 1);
    std::printf("%-8s %s: %s\n", right ? "ok" : "WRONG", name, !said ? said.error().message().c_str() : *said == 1 ? "works" : *said == 2 ? "refused" : "ended it");
    failed += !right;
  }
  return failed == 0 ? 0 : 1;
}
